from __future__ import annotations

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.errors import RouteError
from mentis.net.redact import redact
from mentis.net.targets import check_target, is_loopback, origin_of


@pytest.mark.parametrize(
    "url",
    [
        "https://models.example/v1",
        "http://127.0.0.1:8080/v1",
        "http://localhost/v1",
        "http://[::1]:9/v1",
        "https://10.0.0.7/v1",
    ],
)
def test_https_anywhere_and_http_on_this_machine_may_carry_a_key(url: str) -> None:
    check_target(url, with_key=True)


def test_plain_http_elsewhere_is_allowed_without_a_key_and_refused_with_one() -> None:
    check_target("http://192.168.1.5:11434/v1", with_key=False)
    with pytest.raises(RouteError, match="unencrypted"):
        check_target("http://192.168.1.5:11434/v1", with_key=True)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://169.254.169.254/latest", "link-local"),
        ("http://[fe80::1%25eth0]/v1", "link-local"),
        ("http://2852039166/v1", "link-local"),
        ("http://169.254.43518/v1", "link-local"),
        ("http://0xA9FEA9FE/v1", "link-local"),
        ("http://[::ffff:169.254.169.254]/v1", "link-local"),
        ("http://169.254.169.254./v1", "link-local"),
        ("http://025177524776/v1", "link-local"),
        ("http://0251.0376.0251.0376/v1", "link-local"),
        ("http://[64:ff9b::169.254.169.254]/v1", "link-local"),
        ("http://[64:ff9b:1::a9fe:a9fe]/v1", "link-local"),
        ("http://[2002:a9fe:a9fe::1]/v1", "link-local"),
        ("http://[::a9fe:a9fe]/v1", "link-local"),
        ("http://[fd00:ec2::254]/v1", "a cloud keeps keys"),
        ("http://metadata.google.internal/v1", "a cloud keeps keys"),
        ("http://Metadata.Google.Internal./v1", "a cloud keeps keys"),
        ("ftp://host/v1", "http or https"),
        ("file:///etc/passwd", "http or https"),
        ("host/v1", "http or https"),
        ("https://", "http or https"),
        ("https://user:word@host/v1", "credentials"),
        ("https://host:99999/v1", "not an address"),
        ("https://[broken/v1", "not an address"),
    ],
)
def test_other_addresses_are_refused_with_the_reason(url: str, why: str) -> None:
    with pytest.raises(RouteError, match=why):
        check_target(url, with_key=False)


def test_credentials_in_an_address_are_not_repeated_in_the_error() -> None:
    with pytest.raises(RouteError) as caught:
        check_target("https://user:hunter22@host/v1", with_key=False)
    assert "hunter22" not in str(caught.value)


def test_loopback_is_known_by_name_and_number() -> None:
    assert is_loopback("localhost")
    assert is_loopback("127.8.9.1")
    assert not is_loopback("example.org")
    assert not is_loopback("10.0.0.1")


def test_secrets_are_struck_out_longest_first_and_short_ones_left_alone() -> None:
    text = "key sk-abcdef and sk-abcdef-long, a cat"
    assert redact(text, ["sk-abcdef", "sk-abcdef-long", "a", ""]) == (
        "key [redacted] and [redacted], a cat"
    )


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Host.example/v1", "https://host.example:443"),
        ("https://host.example:443/other?q#f", "https://host.example:443"),
        ("https://host.example:/v1", "https://host.example:443"),
        ("https://host.example./v1", "https://host.example.:443"),
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080"),
        ("http://[::1]:9/v1", "http://[::1]:9"),
    ],
)
def test_an_origin_is_scheme_host_and_port_written_one_way(url: str, origin: str) -> None:
    assert origin_of(url) == origin


_PIECES = st.sampled_from(
    [
        *"ab.:/@#?[]%\\ \t\0\x7f_-0",
        *("evil.example", "%2e", "%40", ":80", ":443", "//", "::1", "[::1]", "127.0.0.1", ".."),
        *("user:word@", "xn--", "xn--4ca", "\u3002", "\uff0f", "\u212a", "\u0430"),
    ]
)


@given(st.lists(_PIECES, max_size=6).map("".join), st.sampled_from(["https://", "HTTP://", "//"]))
def test_an_origin_is_the_place_that_the_client_would_call(rest: str, start: str) -> None:
    url = f"{start}{rest}"
    try:
        origin, called = origin_of(url), httpx2.URL(url)
    except (RouteError, httpx2.InvalidURL):
        return  # nothing is sent
    looked_up = called.raw_host.decode()
    host = f"[{looked_up}]" if ":" in looked_up else looked_up
    usual = {"https": 443, "http": 80}[called.scheme]
    port = usual if called.port is None else called.port
    assert origin == f"{called.scheme}://{host}:{port}"
    assert not called.userinfo
