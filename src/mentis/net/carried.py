"""The address that is really called. Pure: nothing is looked up."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network

# Forms of IPv6 whose last 32 bits are the IPv4 address that is really called.
_CARRIERS = tuple(map(IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "::ffff:0:0:0/96", "::/96")))


def carried_address(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The address that is really called: several forms of IPv6 carry one of IPv4."""
    if isinstance(address, IPv4Address):
        return address
    if address.is_loopback or address.is_unspecified:
        return address
    if any(address in network for network in _CARRIERS):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
