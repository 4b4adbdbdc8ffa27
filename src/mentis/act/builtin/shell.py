"""`shell`: one program, named by the owner, run inside the home. There is no shell in it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from mentis.disk.inside import inside
from mentis.errors import OutsideHome, SettingsError
from mentis.values.act import ActCall
from mentis.values.action import Outcome
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust
from mentis.values.value import Value

from .arguments import Arguments, Unfit
from .kind import BuiltIn, Kind
from .process import CapturedOutput, ProcessResult, Program, run

MOST_SECONDS = 60.0
MOST_OUTPUT = 256 * 1024
SHELL = Kind(
    "shell",
    "agent",
    external_effects=True,
    idempotent=False,
    on=False,
    endpoint="shell",
    timeout_seconds=MOST_SECONDS + 15,
    limits="only programs of the list; inside the home; 10 s (most 60), 16 KiB (most 256) of each"
    " output; no variables of ours",
)


@dataclass(frozen=True, slots=True)
class ShellLimits(Value):
    """`programs` may be run and nothing else: names that are looked up in `path`, or whole paths.

    An empty list allows none.
    """

    programs: tuple[str, ...] = ()
    path: str = "/usr/local/bin:/usr/bin:/bin"
    seconds: float = 10.0
    most_seconds: float = MOST_SECONDS
    output_bytes: int = 16 * 1024
    most_output_bytes: int = MOST_OUTPUT

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= self.most_seconds <= MOST_SECONDS:
            raise SettingsError(f"a program may run for at most {MOST_SECONDS:g} seconds")
        if not 0 < self.output_bytes <= self.most_output_bytes <= MOST_OUTPUT:
            raise SettingsError(f"of an output at most {MOST_OUTPUT} bytes can be kept")


class Shell(BuiltIn):
    def __init__(self, words: ToolDeclaration, home: Path, limits: ShellLimits) -> None:
        self._home = home
        self._limits = limits
        found = [self._find(name) or f"{name} (not found)" for name in limits.programs]
        super().__init__(replace(SHELL.spec(words), where=", ".join(found)))

    async def _act(self, call: ActCall, given: Arguments) -> Outcome:
        argv = _argv(given)
        seconds = given.number("seconds", 0.001, self._limits.most_seconds, self._limits.seconds)
        most = self._limits.most_output_bytes
        output_bytes = given.whole("output_bytes", 1, most, self._limits.output_bytes)
        if argv[0] not in self._limits.programs:
            return self._failed(call, "refused", self._unlisted(argv[0]))
        found = self._find(argv[0])
        if found is None:
            return self._failed(call, "unavailable", f"there is no program {argv[0]!r} here")
        cwd = self._folder(given.text("cwd", most=1000, default=""))
        program = Program((found, *argv[1:]), cwd, self._environment(), call.key)
        try:
            ran = await run(program, seconds=seconds, output_bytes=output_bytes)
        except OSError as error:
            reason = f"{argv[0]!r} cannot be started: {error.strerror or error}"
            return self._failed(call, "unavailable", reason)
        return self._told(call, ran, seconds)

    def _find(self, name: str) -> str | None:
        if "/" in name and not Path(name).is_absolute():
            return None  # it would depend on where we stand
        return shutil.which(name, path=self._limits.path)

    def _folder(self, name: str) -> Path:
        """Inside the home also once every link is followed, and named without any link."""
        if "\0" in name:
            raise Unfit("cwd: it holds a null character")
        try:
            folder = inside(self._home, name).resolve()
        except OutsideHome as error:
            raise OutsideHome(f"cwd: {name!r} leads out of the home") from error
        if not folder.is_dir():
            raise Unfit(f"cwd: {name!r} is no folder in the home")
        return folder

    def _environment(self) -> dict[str, str]:
        """Nothing of ours: there may be keys in it."""
        return {"PATH": self._limits.path, "HOME": str(self._home.resolve()), "LANG": "C.UTF-8"}

    def _unlisted(self, name: str) -> str:
        allowed = ", ".join(self._limits.programs) or "none"
        return f"{name!r} is not among the programs that may be run: {allowed}"

    def _told(self, call: ActCall, ran: ProcessResult, seconds: float) -> Outcome:
        result = {
            "ending": ran.ending,
            "exit_code": ran.code,
            "stdout": _output(ran.stdout),
            "stderr": _output(ran.stderr),
        }
        outcome = self._done(call, result, Trust.UNTRUSTED)
        match ran.ending:
            case "exited":
                return outcome
            case "timeout":
                reason = f"it did not end within {seconds:g} seconds and was stopped"
                return self._stopped(outcome, "timeout", reason)
            case "flooded":
                reason = "it wrote far more than is kept and was stopped"
                return self._stopped(outcome, "crashed", reason)


def _argv(given: Arguments) -> tuple[str, ...]:
    argv = given.texts("argv", most=64, each=4096, empty=True)
    if not argv:
        raise Unfit("argv: it names no program")
    if any("\0" in part for part in argv):
        raise Unfit("argv: it holds a null character")
    return argv


def _output(heard: CapturedOutput) -> dict[str, object]:
    """`lossy`: bytes that are no UTF-8 were replaced."""
    text = bytes(heard.content).decode("utf-8", "replace")
    whole = len(heard.content) + heard.dropped
    return {"text": text, "bytes": whole, "cut": heard.dropped, "lossy": "\ufffd" in text}
