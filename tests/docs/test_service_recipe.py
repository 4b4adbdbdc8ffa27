"""The commands of the guide to production that set up a service, run as they are written.

What needs another user, or the whole machine, is a function of that name here.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs/guides/run-it-in-production.md"
FOLDERS = ("/etc/", "/var/", "/opt/")
STUBS = """
set -eu
useradd() { :; }
sudo() { shift 2; "$@"; }
systemctl() { echo "systemctl $*"; }
sh() { mkdir -p "$4/bin"; ln -sf "$MENTIS" "$4/bin/mentis"; }
install() {
    for word; do shift; case $word in -o | -g | mentis) ;; *) set -- "$@" "$word" ;; esac; done
    command install "$@"
}
"""


def recipe(marks: str, root: Path) -> str:
    """That of the block with these words; its folders are below `root`."""
    blocks = re.findall(r"```console\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (block,) = [one for one in blocks if marks in one]
    for folder in FOLDERS:
        block = re.sub(rf"(?<![\w.]){folder}", f"{root}{folder}", block)
    return re.sub(r"(?m)^# ", "", block)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of a POSIX shell")
def test_the_service_is_set_up_and_upgraded_as_the_guide_says(tmp_path: Path) -> None:
    root, work = tmp_path / "root", tmp_path / "work"
    for folder in ("etc/systemd/system", "var/lib", "var/cache", "opt"):
        (root / folder).mkdir(parents=True)
    shutil.copytree(ROOT / "deploy", work / "deploy")
    (work / "providers.env").write_text("ANTHROPIC_API_KEY=none\n", encoding="utf-8")
    upgrade = recipe("as_mentis upgrade --apply", root).replace("/media/disk", str(tmp_path))
    done = subprocess.run(
        ["bash", "-c", STUBS + recipe("useradd", root) + upgrade],
        cwd=work,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "MENTIS": str(program(tmp_path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Nothing to do." in done.stdout
    assert done.stdout.endswith("systemctl start mentis@home\n")
    assert "claude-sonnet-4-5" in (root / "var/lib/mentis/home/mentis.toml").read_text("utf-8")
    assert (root / "etc/mentis/home.env").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "home.backup").exists()


def program(folder: Path) -> Path:
    """A `mentis` that runs this one."""
    path = folder / "mentis"
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m mentis "$@"\n', "utf-8")
    path.chmod(0o755)
    return path


def test_the_unit_and_the_container_keep_nothing_outside_of_their_volumes() -> None:
    unit = (ROOT / "deploy/mentis@.service").read_text(encoding="utf-8")
    container = (ROOT / "deploy/Containerfile").read_text(encoding="utf-8")
    for name in ("MENTIS_HOME", "MENTIS_CONFIG", "MENTIS_CACHE", "MENTIS_STATE"):
        assert re.search(rf"Environment={name}=/var/(lib|cache)/mentis", unit), name
        assert re.search(rf"ENV .*\b{name}=/(data|keys)\b", container), name
