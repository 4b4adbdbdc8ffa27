"""`mentis ledger`: look, prove, seal, erase, rotate, hand over."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from mentis.record.record import open_record
from mentis.stores.files.key_folder import config_folder
from mentis.stores.files.known_homes import KnownHomes
from mentis.values.entry import Draft


class Done(Protocol):
    code: int
    out: str
    err: str

    def json(self) -> Any: ...  # noqa: ANN401 - what a command prints


Mentis = Callable[..., Done]


@pytest.fixture
def filled(home: Path) -> Path:
    with open_record(home) as record:
        for n in range(8):
            draft = Draft("note", "test", {"text": f"note {n}"}, delivery=f"mail-{n}")
            record.ledger.append(record.agent, [draft], record.stamp())
    return home


@pytest.fixture
def ledger(mentis: Mentis, filled: Path) -> Mentis:
    def call(*args: str | Path) -> Done:
        return mentis("--home", filled, "ledger", *args)

    return call


def audit(bundle: Path, script: Path, *args: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", script, bundle, *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_after_a_jump_the_clock_is_settled_by_an_entry_that_says_why(ledger: Mentis) -> None:
    done = ledger("settle-clock", "--reason", "NTP was off", "--json")
    assert (done.code, done.json()) == (0, {"entry": 8, "jumps": []})
    told = {"jumps": 0, "reason": "NTP was off"}
    assert json.loads(ledger("show", "8", "--json").out)["body"]["settled"] == told
    assert "says that the clock is right" in ledger("settle-clock", "--reason", "again").err


def test_show_lists_the_last_entries_or_one_in_full(ledger: Mentis) -> None:
    done = ledger("show", "--last", "2")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()[2:4]] == ["6", "7"]
    assert 'text: "note 3"' in ledger("show", "3").out
    assert ledger("show", "3", "--json").json()["body"]["text"] == "note 3"
    assert len(ledger("show", "--json").json()["entries"]) == 8
    missing = ledger("show", "99")
    assert (missing.code, missing.out) == (2, "")
    assert "there is no entry 99" in missing.err


def test_a_proof_is_printed_and_checks_anywhere_the_pin_is_known(
    ledger: Mentis, mentis: Mentis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "proof.json"
    file.write_text(ledger("proof", "3", "--json").out)
    checked = ledger("proof", "--check", file)
    assert checked.code == 0
    assert checked.out.startswith("ok  inclusion")
    monkeypatch.setenv("MENTIS_HOME", str(tmp_path / "nowhere"))
    alone = mentis("ledger", "proof", "--check", file)
    assert alone.code == 1
    assert "which is not signed" in alone.out
    assert "--root" in alone.err
    told = json.loads(file.read_text())
    known = mentis("ledger", "proof", "--check", file, "--root", told["root"])
    assert (known.code, known.out.split()[0]) == (0, "ok")
    other = mentis("ledger", "proof", "--check", file, "--root", "0" * 64)
    assert (other.code, other.out.split()[0]) == (1, "BROKEN")
    file.write_text(json.dumps({**told, "hash": "0" * 64}))
    broken = ledger("proof", "--check", file, "--json")
    assert broken.code == 1
    assert broken.json()["holds"] is False


def test_a_proof_of_growth_is_printed_and_checks(ledger: Mentis, tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    done = ledger("proof", "--consistency", "5", "--json")
    file.write_text(done.out)
    assert done.json()["size"] == 8
    assert ledger("proof", "--check", file).out.startswith("ok  growth")
    unsigned = ledger("proof", "2", "--size", "5")
    assert "nobody has signed this root" in unsigned.err
    assert ledger("proof", "2", "--size", "50").code == 2


def test_a_proof_that_somebody_made_up_is_not_ok(ledger: Mentis, tmp_path: Path) -> None:
    made_up: dict[str, object] = {"agent": "home/ada", "index": 0, "hash": "ab" * 32, "size": 1}
    root = hashlib.sha256(b"\0" + bytes.fromhex("ab" * 32)).hexdigest()
    file = tmp_path / "proof.json"
    file.write_text(json.dumps({**made_up, "path": [], "root": root, "note": None}))
    checked = ledger("proof", "--check", file, "--json")
    assert checked.code == 1
    told = checked.json()
    assert (told["holds"], told["signed"], told["good"]) == (True, None, False)
    assert ledger("proof", "3", "--root", root).code == 2


def test_a_file_without_a_checkpoint_is_refused(ledger: Mentis, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    given = ("--checkpoint", str(tmp_path / "empty.txt"))
    refused = ledger("accept-rollback", "--reason", "x", "--yes", *given)
    assert refused.code != 0
    assert "holds no checkpoint" in refused.err


def test_a_proof_needs_one_thing_to_prove(ledger: Mentis) -> None:
    assert "what is to be proved?" in ledger("proof").err
    assert ledger("proof", "1", "--consistency", "2").code == 2


def test_a_checkpoint_is_printed_as_a_note_and_listed(ledger: Mentis, filled: Path) -> None:
    note = ledger("checkpoint")
    assert (note.code, note.out.splitlines()[1]) == (0, "8")
    assert note.out.splitlines()[0].endswith("/home/ada")
    listed = ledger("checkpoint", "--list", "--json").json()["checkpoints"]
    assert [row["size"] for row in listed] == [8, 8]
    assert listed[-1]["note"] == note.out
    assert "2 checkpoints" in ledger("checkpoint", "--list").err
    kept = filled.parent / "kept.note"
    kept.write_text(note.out)


def test_a_checkpoint_kept_elsewhere_vouches_in_verify(
    mentis: Mentis, ledger: Mentis, filled: Path, tmp_path: Path
) -> None:
    note = tmp_path / "kept.note"
    note.write_text(ledger("checkpoint").out)
    done = mentis("--home", filled, "status", "verify", "--checkpoint", note)
    assert done.code == 0
    assert "A checkpoint from outside has seen all 8 entries." in done.err


def test_a_home_without_a_key_is_told_and_gets_one(ledger: Mentis, filled: Path) -> None:
    marker = filled / "mentis.toml"
    lines = marker.read_text().splitlines(keepends=True)
    marker.write_text("".join(li for li in lines if not li.startswith(("origin", "public_key"))))
    assert "swapped identity" in ledger("checkpoint").err  # it had one, at this place
    assert "swapped identity" in ledger("checkpoint", "--init").err
    KnownHomes(config_folder(os.environ)).file(filled).unlink()
    refused = ledger("checkpoint")
    assert refused.code == 1
    assert "[signing-key]" in refused.err
    assert "mentis ledger checkpoint --init" in refused.err
    made = ledger("checkpoint", "--init", "--json").json()
    assert Path(made["key"]).is_file()
    assert f'public_key = "{made["public_key"]}"' in marker.read_text()
    assert "has a log already" in ledger("checkpoint", "--init").err
    assert ledger("checkpoint").code == 0


def test_the_key_is_changed_and_everything_still_verifies(
    mentis: Mentis, ledger: Mentis, filled: Path
) -> None:
    done = ledger("checkpoint", "--new-key", "--json").json()
    assert done["entries"] == [{"agent": "home/ada", "index": 8}]
    assert f'public_key = "{done["public_key"]}"' in (filled / "mentis.toml").read_text()
    assert ledger("rotate", "--keep", "2").code == 0
    assert mentis("--home", filled, "status", "verify").code == 0
    assert "signed by the old key and the new" in ledger("checkpoint", "--new-key").err
    assert mentis("--home", filled, "status", "verify").code == 0
    assert ledger("checkpoint", "--new-key", "--list").code == 2


def test_anchors_are_added_listed_pushed_and_removed(
    ledger: Mentis, filled: Path, tmp_path: Path
) -> None:
    assert "no anchors" in ledger("anchor", "list").err
    assert "no anchors" in ledger("anchor", "push").err
    file = tmp_path / "anchor.txt"
    added = ledger("anchor", "add", "--file", file)
    assert added.out == f"file:{file}\n"
    assert f'anchors = ["file:{file}"]' in (filled / "mentis.toml").read_text()
    assert ledger("anchor", "list", "--json").json() == {
        "entries": 8,
        "anchors": [{"name": f"file:{file}", "size": 8, "fault": ""}],
    }
    assert "8 of 8" in ledger("anchor", "list").out
    assert ledger("anchor", "push").out == f"file:{file}\n"
    file.unlink()
    file.mkdir()
    failed = ledger("anchor", "push", "--json")
    assert failed.code == 1
    assert "could not be told" in failed.json()["faults"][0]
    assert ledger("anchor", "remove", "--file", file).out == f"file:{file}\n"
    assert "no anchors" in ledger("anchor", "list").err
    assert ledger("anchor", "remove", "--file", file).code == 2
    assert ledger("anchor", "add").code == 2
    assert ledger("anchor", "add", "--file", filled / "x").code == 2
    assert ledger("anchor", "add", "--file", tmp_path / "no" / "where").code == 1


def test_erasing_asks_and_leaves_a_tombstone(mentis: Mentis, ledger: Mentis, filled: Path) -> None:
    asked = ledger("erase", "3", "--field", "text", "--reason", "Art. 17")
    assert asked.code == 2
    assert "--yes" in asked.err
    done = ledger("erase", "3", "--field", "text", "--reason", "Art. 17", "--yes", "--json")
    assert done.json()["tombstone"]["index"] == 8
    assert done.json()["remains"] == []
    assert "text: erased; its commitment is" in ledger("show", "3").out
    verified = mentis("--home", filled, "status", "verify")
    assert verified.code == 0
    assert "entry 3: erased text (Art. 17)" in verified.out
    again = ledger("erase", "3", "--field", "text", "--reason", "x", "--yes")
    assert again.code == 2
    whole = ledger("erase", "5", "--reason", "x", "--yes")
    assert whole.out.startswith("erased text, clock of entry 5")
    assert "its delivery 'mail-5' stays" in whole.err
    assert b"note 5" not in (filled / "mentis.db").read_bytes()
    nothing = ledger("erase", "5", "--reason", "x", "--yes")
    assert (nothing.code, "nothing left to erase" in nothing.err) == (2, True)
    named = ledger("erase", "5", "--field", "delivery", "--reason", "x", "--yes", "--json")
    assert (named.json()["fields"], named.json()["left"]) == (["delivery"], [])
    assert b"mail-5" not in (filled / "mentis.db").read_bytes()


def test_a_number_that_no_ledger_reaches_is_refused(ledger: Mentis) -> None:
    for command in (["show"], ["proof"], ["erase", "--reason", "x"]):
        refused = ledger(*command, "9" * 30)
        assert (refused.code, "Traceback" in refused.err) == (2, False)


def test_rotation_moves_old_entries_into_a_file(
    mentis: Mentis, ledger: Mentis, filled: Path
) -> None:
    done = ledger("rotate", "--keep", "3")
    path = Path(done.out.strip())
    assert path.is_file()
    assert "entries 0 to 4 are sealed there" in done.err
    assert 'text: "note 2"' in ledger("show", "2").out
    assert mentis("--home", filled, "status", "verify").code == 0
    assert ledger("rotate", "--before", "6", "--json").json()["dropped"] == 1
    assert ledger("rotate", "--before", "2").code == 2
    assert ledger("rotate").code == 2
    assert "kept for ever" in ledger("rotate", "--expire", "--yes").err
    marker = filled / "mentis.toml"
    marker.write_text(marker.read_text().replace("[ledger]", "[ledger]\nkeep_segments_days = 30"))
    assert "no segment is that old" in ledger("rotate", "--expire", "--yes").err
    assert path.is_file()


def test_an_export_is_checked_with_one_command(ledger: Mentis, tmp_path: Path) -> None:
    bundle = tmp_path / "ada.zip"
    note = tmp_path / "kept.note"
    note.write_text(ledger("checkpoint").out)
    assert ledger("rotate", "--keep", "3").code == 0
    done = ledger("export", bundle)
    get, command = done.out.splitlines()
    assert get == "mentis ledger auditor > verify.py"
    script = tmp_path / "verify.py"
    script.write_text(ledger("auditor").out, "utf-8")
    words = command.split()
    assert words[:3] == ["python", "-I", "verify.py"]
    checked = audit(bundle, script, *words[4:], "--checkpoint", note)
    assert checked.returncode == 0, checked.stdout
    assert "complete: a checkpoint from outside has seen 8 entries" in checked.stdout
    assert ledger("export", bundle).code == 2


def test_the_verifier_is_printed_as_it_is_installed_with_its_digest(
    ledger: Mentis, tmp_path: Path
) -> None:
    done = ledger("auditor")
    assert done.err == f"sha256 {hashlib.sha256(done.out.encode()).hexdigest()}\n"
    assert json.loads(ledger("auditor", "--json").out) == {
        "sha256": hashlib.sha256(done.out.encode()).hexdigest(),
        "script": done.out,
    }
    ledger("export", tmp_path / "ada.zip")
    with zipfile.ZipFile(tmp_path / "ada.zip") as archive:
        assert archive.read("verify.py") == done.out.encode(), "the one in a genuine export"


def _edit(line: str) -> str:
    return line.replace("note 4", "note 9")


def _resource(line: str) -> str:
    return line.replace('"source":"test"', '"source":"boss"')


@pytest.mark.parametrize("change", [_edit, _resource])
def test_a_changed_export_is_found_by_the_auditor(
    ledger: Mentis, tmp_path: Path, change: Callable[[str], str]
) -> None:
    bundle, forged = tmp_path / "ada.zip", tmp_path / "forged.zip"
    words = ledger("export", bundle).out.splitlines()[1].split()
    script = tmp_path / "verify.py"
    with zipfile.ZipFile(bundle) as archive, zipfile.ZipFile(forged, "w") as target:
        script.write_bytes(archive.read("verify.py"))
        for name in archive.namelist():
            content = archive.read(name)
            if name == "entries.jsonl":
                lines = content.decode().splitlines(keepends=True)
                lines[4] = change(lines[4])
                content = "".join(lines).encode()
            target.writestr(name, content)
    checked = audit(forged, script, *words[4:])
    assert checked.returncode == 1
    assert "BROKEN" in checked.stdout
    assert "entry 4" in checked.stdout


def test_an_export_is_audited_against_the_key_of_the_home(ledger: Mentis, tmp_path: Path) -> None:
    bundle = tmp_path / "ada.zip"
    ledger("export", bundle)
    done = ledger("audit", bundle)
    assert (done.code, done.out.split()[0]) == (0, "ok")
    assert ledger("audit", bundle, "--json").json()["verdict"] == "ok"
    content = bytearray(bundle.read_bytes())
    content[400] ^= 0x10
    bundle.write_bytes(content)
    done = ledger("audit", bundle)
    assert (done.code, done.out.split()[0]) == (1, "BROKEN")
    assert "entry 0, " in done.out
    assert ledger("audit", bundle, "--key", "x").code == 2


def test_a_shortened_export_is_found_by_the_checkpoint_that_somebody_kept(
    ledger: Mentis, filled: Path, tmp_path: Path
) -> None:
    note = tmp_path / "kept.note"
    note.write_text(ledger("checkpoint").out)
    bundle, forged = tmp_path / "ada.zip", tmp_path / "forged.zip"
    words = ledger("export", bundle).out.splitlines()[1].split()
    script = tmp_path / "verify.py"
    with zipfile.ZipFile(bundle) as archive, zipfile.ZipFile(forged, "w") as target:
        script.write_bytes(archive.read("verify.py"))
        lines = archive.read("entries.jsonl").splitlines(keepends=True)
        target.writestr("entries.jsonl", b"".join(lines[:5]))
        target.writestr("checkpoints.txt", "")
        about = json.loads(archive.read("ledger.json")) | {"entries": 5}
        target.writestr("ledger.json", json.dumps(about))
    checked = audit(forged, script, *words[4:])
    assert checked.returncode == 1
    assert checked.stdout.startswith("UNSIGNED"), "what is there holds, and anybody could say it"
    checked = audit(forged, script, *words[4:], "--checkpoint", note)
    assert checked.returncode == 1
    assert "8 entries were there" in checked.stdout


def test_repair_says_that_nothing_is_wrong(ledger: Mentis) -> None:
    done = ledger("repair")
    assert (done.code, done.out) == (0, "")
    assert "nothing is wrong" in done.err
    assert ledger("repair", "--json").json()["entry"] is None


def test_nothing_to_accept_is_an_error(ledger: Mentis) -> None:
    done = ledger("accept-rollback", "--reason", "x", "--yes")
    assert done.code == 2
    assert "nothing was rolled back" in done.err


def test_a_rollback_that_is_not_accepted_leaves_no_empty_database_behind(
    ledger: Mentis, mentis: Mentis, filled: Path, tmp_path: Path
) -> None:
    accept = ("accept-rollback", "--reason", "the disk died")
    for file in filled.glob("mentis.db*"):
        file.unlink()
    (tmp_path / "empty.txt").write_text("")
    refused = ledger(*accept, "--yes", "--checkpoint", str(tmp_path / "empty.txt"))
    assert "holds no checkpoint" in refused.err
    assert "not asked without a terminal" in ledger(*accept).err
    assert list(filled.glob("mentis.db*")) == []
    assert "is gone" in mentis("--home", filled, "sessions", "list").err
    assert ledger(*accept, "--yes").code == 0
    assert ledger("show", "--json").json()["entries"][0]["kind"] == "rollback"


def test_wrong_usage_found_by_a_command_itself_is_exit_code_2(ledger: Mentis) -> None:
    done = ledger("proof")
    assert (done.code, "[usage]" in done.err) == (2, True)


def test_an_export_leaves_out_what_is_asked_for_and_is_shown_like_a_home(
    ledger: Mentis, tmp_path: Path
) -> None:
    bundle, rules = tmp_path / "ada.zip", tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nname = "fours"\nfield = "text"\npattern = "4"\n')
    done = ledger("export", bundle, "--with-texts", "--rules", rules, "--redact", "note 5")
    assert done.code == 0, done.err
    assert "text: left out of this file (rule fours)" in ledger("show", bundle, "4").out
    assert "text: left out of this file (rule pattern 1)" in ledger("show", bundle, "5").out
    listed = ledger("show", bundle, "--last", "2")
    assert (listed.code, [one.split()[0] for one in listed.out.splitlines()[2:4]]) == (
        0,
        ["6", "7"],
    )
    assert f"8 entries of home/ada in {bundle}: ok" in listed.err
    assert ledger("show", bundle, "--json").json()["verdict"] == "ok"
    with zipfile.ZipFile(bundle) as archive:
        page = tmp_path / "report.html"
        page.write_bytes(archive.read("report.html"))
    assert "entry 4: text left out of this file (rule fours)" in ledger("audit", page).out
    page.write_bytes(page.read_bytes().replace(b'"note 3"', b'"note 9"'))
    broken = ledger("show", page, "2")
    assert (broken.code, "BROKEN" in broken.err) == (1, True)
    assert "entry 3" in broken.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["show", "nowhere.zip"], "neither the number of an entry nor a file"),
        (["show", "1", "2", "3"], "what is to be shown?"),
        (["export", "x.jsonl", "--format", "otel", "--with-texts"], "has no texts in it"),
        (["export", "x.zip", "--redact", "("], "is no pattern"),
    ],
)
def test_what_cannot_be_shown_or_left_out_is_refused(
    ledger: Mentis, words: list[str], told: str
) -> None:
    done = ledger(*words)
    assert (done.code, told in done.err) == (2, True), done.err
