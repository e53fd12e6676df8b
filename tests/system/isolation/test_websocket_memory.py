"""Messages that wait on WebSockets have a bound, in each connection and in all together."""

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path

from websockets.asyncio.client import ClientConnection, connect

from tests.support.keys import bearing
from tests.support.replay import ReplayBackend
from tests.support.rivals import Tenant, hang_for_a, rivals

MEGABYTE = 1024 * 1024
ROOM = 48 * MEGABYTE
MESSAGE = 4 * MEGABYTE
CONNECTIONS = 14
WAITING = 6
MARGIN = 100 * MEGABYTE


def message(text: str) -> str:
    return json.dumps({"type": "response.create", "model": "m", "input": text, "store": False})


async def attack(tenant: Tenant, stack: AsyncExitStack) -> list[str]:
    """Open connections with one running response and waiting messages each; return the codes of
    what is refused.
    """
    url = tenant.url.replace("http", "ws", 1) + "/responses"
    sockets = [
        await stack.enter_async_context(
            connect(url, additional_headers=bearing(tenant.key), max_size=None)
        )
        for _ in range(CONNECTIONS)
    ]
    codes: list[str] = []
    await asyncio.gather(*(_fill(socket, codes) for socket in sockets))
    return codes


async def _fill(socket: ClientConnection, codes: list[str]) -> None:
    await socket.send(message("A"))
    while json.loads(await socket.recv())["type"] != "response.output_text.delta":
        pass
    for _ in range(WAITING):
        await socket.send(message("A" + " " * MESSAGE))
    # The last message is refused whatever was accepted: that says when the server has read all of
    # them.
    await socket.send('{"type": "unknown"}')
    while True:
        event = json.loads(await socket.recv())
        if event["type"] == "error":
            codes.append(event["error"]["code"])
            if event["error"]["code"] == "invalid_value":
                return


async def test_what_waits_on_many_connections_stays_within_the_room(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    backend.script = hang_for_a
    store = f"sqlite://{tmp_path}/antiphon.db"
    async with (
        rivals(tmp_path, store, backend.url, ANTIPHON_MAX_BODIES=str(ROOM)) as both,
        AsyncExitStack() as stack,
    ):
        idle = both.memory
        codes = await attack(both.a, stack)
        status, body = await both.b.respond("B" + "b" * (MEGABYTE // 2))

        assert "server_is_overloaded" in codes
        assert both.peak_memory - idle <= ROOM + MARGIN
        assert (status, body.get("status")) == (200, "completed")
