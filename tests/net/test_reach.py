"""Which addresses an agent may fetch from, told from their text and from where they lead."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from mentis.errors import BadInput
from mentis.net.reach import Reach, WebAddress, addresses_of, aim_at, may_reach

REACH = Reach(
    hosts=("example.org", ".wiki.test", "Other.test:8443", "9.9.9.9"),
    private=("localhost:8080", "intra.test", "[::1]:8080"),
)


@pytest.mark.parametrize(
    ("url", "called"),
    [
        ("https://example.org", "https://example.org/"),
        ("HTTPS://EXAMPLE.org:443/a?b=c#d", "https://example.org/a?b=c"),
        ("https://example.org./", "https://example.org/"),
        ("https://de.wiki.test/x", "https://de.wiki.test/x"),
        ("https://other.test:8443/", "https://other.test:8443/"),
        ("https://9.9.9.9/", "https://9.9.9.9/"),
        ("http://localhost:8080/", "http://localhost:8080/"),
        ("https://[::1]:8080/x", "https://[::1]:8080/x"),
        ("https://intra.test/", "https://intra.test/"),
    ],
)
def test_listed_hosts_may_be_reached(url: str, called: str) -> None:
    assert aim_at(url, REACH).url == called


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://example.org/", "without encryption"),
        ("https://example.org:8443/", "not among the hosts"),
        ("https://other.test/", "not among the hosts"),
        ("https://wiki.test/", "not among the hosts"),
        ("https://evilwiki.test/", "not among the hosts"),
        ("https://example.org.evil.test/", "not among the hosts"),
        ("https://evil.test/example.org", "not among the hosts"),
        ("https://evil.test?example.org", "not among the hosts"),
        ("https://example.org@evil.test/", "credentials"),
        ("https://user:word@example.org/", "credentials"),
        ("https://@example.org/", "credentials"),
        ("https://evil.test\\@example.org/", "backslash"),
        ("https://example.org/\r\nhost: evil", "control character"),
        ("https://example.org /", "a space"),
        ("https://\u0435xample.org/", "ASCII"),
        ("https://0x09090909/", "disguise"),
        ("https://151587081/", "disguise"),
        ("https://9.9.2313/", "disguise"),
        ("https://[::ffff:9.9.9.9]/", "disguise"),
        ("https://a..wiki.test/", "no name"),
        (f"https://{'x' * 64}.wiki.test/", "no name"),
        ("https://a%2e.wiki.test/", "no name"),
        ("ftp://example.org/", "not an https address"),
        ("file:///etc/passwd", "not an https address"),
        ("javascript:alert(1)", "not an https address"),
        ("//example.org/", "not an https address"),
        ("example.org", "not an https address"),
        ("https:///x", "not an https address"),
        ("https://example.org:99999/", "Port out of range"),
        ("https://[broken/", "Invalid IPv6"),
        ("https://example.org/" + "x" * 2048, "2048 characters"),
        ("", "not an https address"),
    ],
)
def test_others_are_refused_with_the_reason(url: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        aim_at(url, REACH)


def test_credentials_are_not_repeated() -> None:
    with pytest.raises(BadInput) as caught:
        aim_at("https://user:hunter22@example.org/", REACH)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "public", "private", "plain"),
    [
        ("9.9.9.9", True, True, False),
        ("2620:fe::fe", True, True, False),
        ("127.0.0.1", False, True, True),
        ("::1", False, True, True),
        ("::ffff:127.0.0.1", False, True, True),
        ("10.0.0.7", False, True, False),
        ("192.168.1.5", False, True, False),
        ("fd00::1", False, True, False),
        ("::ffff:10.0.0.7", False, True, False),
        ("64:ff9b::10.0.0.7", False, True, False),
        ("2002:a00:7::1", False, True, False),
        ("fec0::1", False, False, False),
        ("::127.0.0.1", False, False, False),
        ("64:ff9b:1::7f00:1", False, False, False),
        ("::ffff:0:127.0.0.1", False, False, False),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", False, False, False),
        ("100.64.0.1", False, False, False),
        ("169.254.169.254", False, False, False),
        ("::ffff:169.254.169.254", False, False, False),
        ("64:ff9b::169.254.169.254", False, False, False),
        ("fe80::1", False, False, False),
        ("0.0.0.0", False, False, False),  # noqa: S104  # nothing is bound
        ("::", False, False, False),
        ("224.0.0.1", False, False, False),
        ("ff02::1", False, False, False),
    ],
)
def test_where_a_host_leads_decides(address: str, public: bool, private: bool, plain: bool) -> None:
    place = ip_address(address)
    assert may_reach(place, private=False, plain=False) is public
    assert may_reach(place, private=True, plain=False) is private
    assert may_reach(place, private=True, plain=True) is plain
    assert not may_reach(place, private=False, plain=True)


@pytest.mark.anyio
async def test_a_name_that_leads_to_this_machine_must_be_listed_as_such() -> None:
    aim = WebAddress("https", "localhost", 8080, "/")
    assert await addresses_of(aim, REACH)
    with pytest.raises(BadInput, match="may be reached"):
        await addresses_of(aim, Reach(hosts=("localhost:8080",)))
