"""The client that every call goes through looks who it is connected to, before it says anything."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest
from anyio import create_task_group, create_tcp_listener, fail_after
from anyio.abc import ByteStream, SocketAttribute

from mentis.errors import RouteError
from mentis.net.client import check_peer, open_client

pytestmark = pytest.mark.anyio


class Connected:
    """A connection to some address."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.is_closed = False

    def get_extra_info(self, name: str) -> object:
        return (self.address, 80) if name == "server_addr" else None

    async def aclose(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fd00:ec2::254"],
)
async def test_a_name_that_leads_to_where_keys_are_kept_is_left_at_once(address: str) -> None:
    stream = Connected(address)
    with pytest.raises(RouteError, match="nothing was sent"):
        await check_peer("connection.connect_tcp.complete", {"return_value": stream})
    assert stream.is_closed


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.0.0.7", "93.184.216.34", "fd12::1"])
async def test_other_addresses_are_called(address: str) -> None:
    stream = Connected(address)
    await check_peer("connection.connect_tcp.complete", {"return_value": stream})
    assert not stream.is_closed


async def test_each_request_of_the_client_is_judged_by_the_address_it_is_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged: list[str] = []
    received: list[bytes] = []

    def judge(address: IPv4Address) -> bool:
        judged.append(str(address))
        return True

    monkeypatch.setattr("mentis.net.client.is_forbidden", judge)

    async def take(stream: ByteStream) -> None:
        async with stream:
            received.append(await stream.receive())

    with fail_after(60):
        async with await create_tcp_listener(local_host="127.0.0.1") as listener:
            port = listener.extra(SocketAttribute.local_port)  # noqa: S610  # of a socket
            async with create_task_group() as tasks:
                tasks.start_soon(listener.serve, take)
                async with open_client(read_seconds=5, through_proxy=False) as client:
                    with pytest.raises(RouteError):
                        await client.post(f"http://localhost:{port}/v1", content=b"a secret")
                tasks.cancel_scope.cancel()
    assert judged == ["127.0.0.1"]
    assert received == []
