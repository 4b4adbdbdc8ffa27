"""The way into this surface. It loads the server, which is optional, only when it serves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from mentis.errors import EngineMissing
from mentis.home.system import SystemClock
from mentis.ledger.witnessing import MAX_REQUEST
from mentis.ports.clock import Clock
from mentis.settings.web import WebSettings
from mentis.stores.files.witness_folder import WitnessFolder

if TYPE_CHECKING:
    from mentis.web.guard import AccessRecord


@dataclass(frozen=True, slots=True)
class WitnessOptions:
    """What is chosen for one witness. `hosts` are the names it is called by from elsewhere."""

    host: str = "127.0.0.1"
    port: int = 8379
    hosts: tuple[str, ...] = ()
    clock: Clock = field(default_factory=SystemClock)
    on_access: Callable[[AccessRecord], None] | None = None
    on_defect: Callable[[BaseException], None] | None = None
    on_ready: Callable[[str], None] | None = None
    say: Callable[[str], None] = field(default=lambda _text: None)


async def serve_witness(folder: Path, chosen: WitnessOptions) -> None:
    """Cosign checkpoints over HTTP, until SIGTERM or Ctrl-C, or until it is cancelled."""
    try:
        for name in ("starlette", "uvicorn"):
            import_module(name)
    except ModuleNotFoundError as error:
        raise EngineMissing(
            f"serving needs the package {error.name}, which is not installed",
            hint="pip install 'mentis[serve]'",
        ) from error
    from mentis.record.log_witness import LogWitness
    from mentis.web.application import AppState, make_app
    from mentis.web.guard import GuardParts
    from mentis.web.server import WebServer, run_until_told

    from .application import witness_doors

    kept = WitnessFolder(folder)
    kept.facts()  # what cannot be read is told before anybody comes
    kept.signer()
    limits = WebSettings(
        host=chosen.host, port=chosen.port, hosts=chosen.hosts, body_bytes=MAX_REQUEST
    )
    guard = GuardParts(
        lambda _secret: None,
        limits,
        on_access=chosen.on_access,
        on_defect=chosen.on_defect,
        hosts_setting="--host-name",
    )
    state = AppState()
    server = WebServer(
        make_app(witness_doors(LogWitness(kept, chosen.clock)), guard, state), limits, state
    )
    address = server.bind()
    if chosen.on_ready is not None:
        chosen.on_ready(address)
    await run_until_told(server, chosen.say)
