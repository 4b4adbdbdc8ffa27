from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.needs_ptrace
def test_an_act_is_two_syncs_of_the_disk_one_before_and_one_after(tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    report = tmp_path / "trace"
    command = [strace, "-f", "-e", "trace=fsync,fdatasync,write", "-o", str(report)]
    command += [sys.executable, str(Path(__file__).with_name("traced.py"))]
    done = subprocess.run(
        [*command, str(tmp_path / "mentis.db")], capture_output=True, text=True, check=False
    )
    if "ptrace" in done.stderr.lower():
        pytest.skip(f"strace may not trace here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    inside = re.split(r'write\(1, "(?:begin|end) acts', report.read_text())[1]
    assert len(re.findall(r" f(?:data)?sync\(", inside)) == 20
