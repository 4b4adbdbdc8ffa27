"""The local certificate authority speaks for targets alone, and programs are led to it."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mentis.errors import SigningKeyError
from mentis.recorder.authority import (
    LocalAuthority,
    authority_folder,
    find_authority,
    open_authority,
    remove_authority,
    secured_hosts,
)
from mentis.recorder.forwarded import lead_through
from mentis.recorder.programs import ProgramStart, prepare_program
from mentis.recorder.targets import make_target

HOSTS = {"api.example.org", "llm.example.net"}
BASE = "http://127.0.0.1:8788/t/s3cret"
PROXY = "http://mentis:s3cret@127.0.0.1:8788"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> LocalAuthority:
    return open_authority(tmp_path_factory.mktemp("config") / "record-ca", HOSTS)[0]


def handshake(authority: LocalAuthority, host: str) -> str:
    """Why a program that trusts the authority breaks it off; nothing where it does not."""
    trusting = ssl.create_default_context(cadata=authority.pem().decode())
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting.wrap_bio(to_client, to_server, server_hostname=host)
    server = authority.context(host).wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError as error:
                return error.verify_message
    return ""


def test_it_is_made_once_and_lies_where_only_its_owner_reads_it(tmp_path: Path) -> None:
    folder = authority_folder({"MENTIS_CONFIG": str(tmp_path / "config")})
    assert find_authority(folder) is None
    made, fresh = open_authority(folder, HOSTS)
    again, anew = open_authority(folder, {"api.example.org"})
    assert (fresh, anew) == (True, False)
    assert again.fingerprint == made.fingerprint
    assert folder.parent == tmp_path / "config"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "authority.pem").stat().st_mode & 0o777 == 0o600
    assert b"PRIVATE" not in made.file.read_bytes()


@pytest.mark.parametrize("host", sorted(HOSTS))
def test_programs_that_trust_it_take_it_for_a_target(authority: LocalAuthority, host: str) -> None:
    assert handshake(authority, host) == ""


@pytest.mark.parametrize("host", ["bank.example", "example.org", "127.0.0.1"])
def test_programs_that_trust_it_do_not_take_it_for_anybody_else(
    authority: LocalAuthority, host: str
) -> None:
    assert "subtree violation" in handshake(authority, host)


def test_where_a_target_is_an_address_no_other_address_is_permitted(tmp_path: Path) -> None:
    made, _ = open_authority(tmp_path / "record-ca", {"127.0.0.1"})
    assert made.hosts == {"127.0.0.1"}
    assert handshake(made, "127.0.0.1") == ""
    assert "subtree violation" in handshake(made, "127.0.0.2")


def test_for_another_target_it_is_made_anew_and_keeps_those_it_had(tmp_path: Path) -> None:
    folder = tmp_path / "record-ca"
    before, _ = open_authority(folder, {"a.example"})
    after, anew = open_authority(folder, {"b.example"})
    assert (anew, after.hosts) == (True, {"a.example", "b.example"})
    assert after.fingerprint != before.fingerprint
    assert after.file.read_bytes() == after.pem()


def test_it_is_made_anew_before_it_expires_and_leaves_while_it_runs(tmp_path: Path) -> None:
    made, _ = open_authority(tmp_path / "record-ca", HOSTS)
    assert timedelta(days=360) < made.expires - datetime.now(UTC) < timedelta(days=366)
    first = made.context("api.example.org")
    assert made.context("api.example.org") is first
    later = datetime.now(UTC) + timedelta(hours=25)
    made.now = lambda: later
    assert made.context("api.example.org") is not first


def test_a_folder_that_others_can_write_is_not_trusted(tmp_path: Path) -> None:
    folder = tmp_path / "record-ca"
    open_authority(folder, HOSTS)
    folder.chmod(0o777)
    with pytest.raises(SigningKeyError):
        open_authority(folder, HOSTS)


def test_damaged_it_is_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "record-ca"
    open_authority(folder, HOSTS)
    (folder / "authority.pem").write_bytes(b"nothing")
    assert open_authority(folder, HOSTS)[1]


def lead(authority: LocalAuthority, **given: str) -> ProgramStart:
    targets = {"stub": make_target("stub", "https://api.example.org")}
    command = ("codex", "exec")
    start = prepare_program(command, BASE, targets, environ=given, folder=authority.folder)
    return lead_through(start, command, PROXY, authority)


def test_a_program_is_led_through_and_trusts_it_beside_what_it_trusted(tmp_path: Path) -> None:
    authority, _ = open_authority(tmp_path / "record-ca", HOSTS)
    (tmp_path / "corp.pem").write_bytes(b"CORPORATE ROOTS\n")
    (tmp_path / "system.pem").write_bytes(b"SYSTEM ROOTS\n")
    start = lead(
        authority,
        SSL_CERT_FILE=str(tmp_path / "system.pem"),
        REQUESTS_CA_BUNDLE=str(tmp_path / "corp.pem"),
        NO_PROXY="internal",
        OPENAI_BASE_URL="https://gateway.example:8443/v1",
    )
    made = start.environ
    assert start.command == ("codex", "exec")
    assert start.targets["gateway-example-8443"].origin == "https://gateway.example:8443"
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        assert made[name] == made[name.lower()] == PROXY
    assert made["NO_PROXY"] == made["no_proxy"] == "internal,127.0.0.1,localhost,::1"
    assert made["NODE_USE_ENV_PROXY"] == "1"
    own = authority.pem()
    assert Path(made["SSL_CERT_FILE"]).read_bytes() == b"SYSTEM ROOTS\n" + own
    assert made["CURL_CA_BUNDLE"] == made["SSL_CERT_FILE"]
    assert Path(made["REQUESTS_CA_BUNDLE"]).read_bytes() == b"CORPORATE ROOTS\n" + own
    assert Path(made["NODE_EXTRA_CA_CERTS"]).read_bytes() == own
    assert "OPENAI_BASE_URL" not in made  # it calls the server it is set up for
    removed = remove_authority(authority.folder)
    assert len(removed) == 4
    assert not authority.folder.exists()
    assert remove_authority(authority.folder) == ()


def test_the_roots_of_the_machine_are_found_without_a_variable(tmp_path: Path) -> None:
    authority, _ = open_authority(tmp_path / "record-ca", HOSTS)
    bundle = Path(lead(authority).environ["SSL_CERT_FILE"]).read_bytes()
    assert bundle.count(b"BEGIN CERTIFICATE") > 10
    assert bundle.endswith(authority.pem())


def test_a_server_on_this_machine_is_named_as_ever_since_a_proxy_is_passed_by(
    tmp_path: Path,
) -> None:
    authority, _ = open_authority(tmp_path / "record-ca", HOSTS)
    start = lead(authority, OPENAI_BASE_URL="http://127.0.0.1:4000/v1")
    assert start.environ["OPENAI_BASE_URL"] == f"{BASE}/127-0-0-1-4000/v1"
    assert start.environ["HTTPS_PROXY"] == PROXY
    assert "127.0.0.1" in start.environ["NO_PROXY"]


def test_an_ollama_on_this_machine_is_led_here_beside_a_proxy(tmp_path: Path) -> None:
    authority, _ = open_authority(tmp_path / "record-ca", HOSTS)
    usual = lead(authority).environ
    assert usual["OLLAMA_HOST"] == f"{BASE}/127-0-0-1-11434"
    assert "ANTHROPIC_BASE_URL" not in usual
    assert "OLLAMA_HOST" not in lead(authority, OLLAMA_HOST="https://ollama.com").environ


def test_a_target_that_goes_past_the_proxy_is_told(tmp_path: Path) -> None:
    authority, _ = open_authority(tmp_path / "record-ca", HOSTS)
    assert lead(authority, no_proxy="api.example.org").notes == [
        "NO_PROXY names api.example.org: what is asked there is not recorded"
    ]


def test_only_encrypted_targets_need_a_certificate() -> None:
    urls = ("https://api.example.org/v1", "http://127.0.0.1:9", "https://10.0.0.5:8443")
    made = [make_target(f"t{number}", url) for number, url in enumerate(urls)]
    assert secured_hosts(made) == {"api.example.org", "10.0.0.5"}
