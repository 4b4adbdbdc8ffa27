"""The local certificate authority of `mentis record --forward`.

It is made on first use and lies outside every home. With it the recorder answers, to programs that
were told to trust it, in the name of the targets and of nobody else: the names are written into the
certificate itself (name constraints), and a new one is made where others are needed.
"""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING

from mentis.disk.atomic import unwritable, write_atomic
from mentis.errors import SigningKeyError
from mentis.net.targets import host_of
from mentis.stores.files.key_folder import config_folder
from mentis.stores.files.own import make_own, read_own

from .targets import CallTarget

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

_AUTHORITY_DAYS, _RENEWAL_DAYS = 365, 30
_LEAF_HOURS, _LEAF_USE_HOURS = 48, 24
_LONGEST_NAME = 64  # of a common name
_EVERYWHERE = ("0.0.0.0/0", "::/0")
_NAME = "Mentis recorder on this machine"


def authority_folder(environ: Mapping[str, str]) -> Path:
    return config_folder(environ) / "record-ca"


def secured_hosts(targets: Collection[CallTarget]) -> frozenset[str]:
    """The hosts that a certificate is needed for."""
    return frozenset(host_of(one.origin) for one in targets if one.origin.startswith("https://"))


@dataclass(slots=True)
class LocalAuthority:
    """`certificate` is what programs are told to trust; `hosts` are all it can speak for. Leaves
    are made when they are needed, last two days, and only ever lie in memory.
    """

    folder: Path
    certificate: x509.Certificate
    key: EllipticCurvePrivateKey = field(repr=False)
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC), repr=False)
    _contexts: dict[str, tuple[datetime, ssl.SSLContext]] = field(
        default_factory=dict[str, tuple[datetime, ssl.SSLContext]], repr=False
    )

    @property
    def file(self) -> Path:
        """The certificate alone, for programs."""
        return self.folder / "ca.pem"

    @property
    def fingerprint(self) -> str:
        from cryptography.hazmat.primitives import hashes

        return self.certificate.fingerprint(hashes.SHA256()).hex(":").upper()

    @property
    def expires(self) -> datetime:
        return self.certificate.not_valid_after_utc

    @property
    def hosts(self) -> frozenset[str]:
        from cryptography import x509

        limits = self.certificate.extensions.get_extension_for_class(x509.NameConstraints).value
        permitted = limits.permitted_subtrees or ()
        return frozenset(
            str(one.value).removesuffix("/32").removesuffix("/128") for one in permitted
        )

    def pem(self) -> bytes:
        from cryptography.hazmat.primitives.serialization import Encoding

        return self.certificate.public_bytes(Encoding.PEM)

    def context(self, host: str) -> ssl.SSLContext:
        """For a server that speaks for this host. It blocks."""
        known = self._contexts.get(host)
        if known is None or known[0] < self.now() - timedelta(hours=_LEAF_USE_HOURS):
            known = self._contexts[host] = self.now(), self._make_context(host)
        return known[1]

    def _make_context(self, host: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        # The library reads files only; this one is gone before anybody could be served.
        with tempfile.NamedTemporaryFile(prefix="mentis-", suffix=".pem") as file:
            file.write(_leaf(self, host))
            file.flush()
            context.load_cert_chain(file.name)
        return context


def find_authority(folder: Path) -> LocalAuthority | None:
    """The one that was made before; None where there is none, or none that can be read."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        content = read_own(_secret_file(folder), top=folder.parent)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SigningKeyError(
            f"{_secret_file(folder)}: cannot be read: {error.strerror}", hint="make it readable"
        ) from error
    try:
        key = load_pem_private_key(content, password=None)
        certificate = x509.load_pem_x509_certificate(content)
    except ValueError:
        return None
    return (
        LocalAuthority(folder, certificate, key)
        if isinstance(key, EllipticCurvePrivateKey)
        else None
    )


def open_authority(folder: Path, hosts: Collection[str]) -> tuple[LocalAuthority, bool]:
    """The authority for these hosts, and whether it was made just now: the first time, when it is
    about to expire, and when it cannot speak for all of them.
    """
    known = find_authority(folder)
    if known is not None and known.hosts >= {*hosts} and _lasts(known):
        made = False
    else:
        known, made = _make_authority(folder, {*hosts} | (known.hosts if known else set())), True
    if made or not known.file.exists() or known.file.read_bytes() != known.pem():
        write_atomic(known.file, known.pem())
    return known, made


def remove_authority(folder: Path) -> tuple[Path, ...]:
    """Take away its key, its certificate and every bundle with it; what was there."""
    removed = tuple(sorted(folder.glob("*.pem")))
    try:
        for file in removed:
            file.unlink(missing_ok=True)
        if folder.exists():
            folder.rmdir()
    except OSError as error:
        raise unwritable(folder, error) from error
    return removed


def _secret_file(folder: Path) -> Path:
    return folder / "authority.pem"


def _lasts(authority: LocalAuthority) -> bool:
    return authority.expires > authority.now() + timedelta(days=_RENEWAL_DAYS)


def _make_authority(folder: Path, hosts: Collection[str]) -> LocalAuthority:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _NAME)])
    usage = dict.fromkeys(_USAGES, False) | {"key_cert_sign": True, "crl_sign": True}
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=_AUTHORITY_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(**usage), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(_name_constraints(hosts), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    make_own(folder, top=folder.parent)
    write_atomic(_secret_file(folder), secret + certificate.public_bytes(Encoding.PEM))
    return LocalAuthority(folder, certificate, key)


def _name_constraints(hosts: Collection[str]) -> x509.NameConstraints:
    """A name of a kind that no subtree speaks of would be free: so addresses are excluded where
    none is permitted.
    """
    from cryptography import x509

    named = list(_names(hosts, network=True))
    numbers = any(isinstance(one, x509.IPAddress) for one in named)
    excluded = None if numbers else [x509.IPAddress(ip_network(one)) for one in _EVERYWHERE]
    return x509.NameConstraints(named, excluded)


def _names(hosts: Collection[str], *, network: bool = False) -> Iterator[x509.GeneralName]:
    from cryptography import x509

    for host in sorted(hosts):
        try:
            address = ip_address(host)
        except ValueError:
            yield x509.DNSName(host)
        else:
            yield x509.IPAddress(ip_network(address) if network else address)


_USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


def _leaf(authority: LocalAuthority, host: str) -> bytes:
    """A key and a certificate for one host."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )
    from cryptography.x509.oid import ExtendedKeyUsageOID

    key, now = ec.generate_private_key(ec.SECP256R1()), authority.now()
    issuer = authority.certificate
    usage = dict.fromkeys(_USAGES, False) | {"digital_signature": True}
    common = x509.NameAttribute(x509.NameOID.COMMON_NAME, host[:_LONGEST_NAME])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([common]))
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(min(now + timedelta(hours=_LEAF_HOURS), authority.expires))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**usage), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(_names([host])), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()),
            critical=False,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return secret + certificate.public_bytes(Encoding.PEM)
