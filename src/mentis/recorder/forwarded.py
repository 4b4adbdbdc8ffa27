"""Programs that go through the forward proxy: the variables that lead them there and have them
trust the local authority, for them alone.

Facts as of 2026-11. curl reads `http_proxy` in small letters only; Node has to be told to read any
of them (nodejs.org, "NODE_USE_ENV_PROXY"); Rust programs and Python's `ssl` read SSL_CERT_FILE,
requests and pip REQUESTS_CA_BUNDLE.
"""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mentis.disk.atomic import write_atomic
from mentis.errors import EngineMissing
from mentis.net.targets import host_of, is_loopback

from .authority import LocalAuthority
from .programs import ProgramStart

# What each of these names is trusted instead of the roots of the system ...
_BUNDLES = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "AWS_CA_BUNDLE",
    "PIP_CERT",
    "HTTPLIB2_CA_CERTS",
    "NIX_SSL_CERT_FILE",
)
# ... and what these do, beside them.
_EXTRAS = ("NODE_EXTRA_CA_CERTS", "DENO_CERT", "CODEX_CA_CERTIFICATE")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_ROOTS = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
_LOCAL = ("127.0.0.1", "localhost", "::1")


def lead_through(
    start: ProgramStart, command: Sequence[str], proxy: str, authority: LocalAuthority
) -> ProgramStart:
    """The same program with the variables of the proxy, whose address may hold a secret, instead
    of those that name its servers. Those stay where one of its servers is on this machine, and
    where they lead nowhere else: what a program has to do here goes past a proxy.
    """
    local = any(is_loopback(host_of(one.origin)) for one in start.servers)
    environ = {name: text for name, text in start.environ.items() if local or name in start.local}
    environ |= {name: proxy for one in _PROXIES for name in (one, one.lower())}
    given = start.given.get("NO_PROXY") or start.given.get("no_proxy") or ""
    known = [one.strip() for one in given.split(",") if one.strip()]
    past = ",".join(dict.fromkeys((*known, *_LOCAL)))
    environ |= {"NO_PROXY": past, "no_proxy": past, "NODE_USE_ENV_PROXY": "1"}
    own = authority.pem()
    for name in _BUNDLES:
        environ[name] = str(_bundle(authority, _given(start, name) or _roots(start), own))
    for name in _EXTRAS:
        environ[name] = str(_bundle(authority, _given(start, name), own))
    notes = [*start.notes]
    hosts = {host_of(one.origin) for one in start.targets.values()}
    if direct := sorted(hosts.intersection(known)):
        notes.append(f"NO_PROXY names {', '.join(direct)}: what is asked there is not recorded")
    chosen = start.command if local else tuple(command)
    return replace(start, command=chosen, environ=environ, notes=notes)


def _given(start: ProgramStart, name: str) -> bytes:
    """The certificates that a variable names already; a file that cannot be read says nothing."""
    try:
        return Path(start.given[name]).read_bytes()
    except (KeyError, OSError):
        return b""


def _roots(start: ProgramStart) -> bytes:
    """Those that programs trust by themselves."""
    if found := _given(start, "SSL_CERT_FILE"):
        return found
    usual = ssl.get_default_verify_paths().cafile
    for file in (usual, *_ROOTS):
        if file and Path(file).is_file():
            return Path(file).read_bytes()
    try:
        import certifi
    except ModuleNotFoundError as error:
        raise EngineMissing(
            "the certificates that this machine trusts were not found",
            hint="name their file in SSL_CERT_FILE, or: pip install certifi",
        ) from error
    return Path(certifi.where()).read_bytes()


def _bundle(authority: LocalAuthority, roots: bytes, own: bytes) -> Path:
    """A file with both, beside the authority; the same ones are the same file."""
    if not roots:
        return authority.file
    content = roots.rstrip() + b"\n" + own
    file = authority.folder / f"bundle-{hashlib.sha256(content).hexdigest()[:16]}.pem"
    if not file.exists():
        write_atomic(file, content)
    return file
