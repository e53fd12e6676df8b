"""Replies that their clients do not read have a bound, in all connections together."""

import asyncio
import json
import socket
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.replay import ReplayBackend
from tests.support.rivals import PATIENCE, Tenant, rivals

MEGABYTE = 1024 * 1024
ROOM = 128 * MEGABYTE
REPLY = 8 * MEGABYTE
CONNECTIONS = 40
MARGIN = 100 * MEGABYTE


async def begin_to_read(tenant: Tenant, path: str, stack: ExitStack) -> bytes:
    """Ask for something, and read the first bytes of the body; return them and the head.

    The rest is never read.
    """
    host = urlsplit(tenant.url)
    connection = stack.enter_context(socket.socket())
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(connection, (host.hostname, host.port))
    head = (
        f"GET {host.path}{path} HTTP/1.1\r\nHost: {host.netloc}\r\nAuthorization: Bearer "
        f"{tenant.key}\r\n\r\n"
    )
    await loop.sock_sendall(connection, head.encode())
    reply = b""
    async with asyncio.timeout(PATIENCE):
        while not reply.partition(b"\r\n\r\n")[2] and (
            more := await loop.sock_recv(connection, 1024)
        ):
            reply += more
    return reply


@pytest.mark.parametrize("query", ["", "?stream=true"], ids=["whole", "replayed"])
async def test_unread_replies_stay_within_the_limit(
    tmp_path: Path, backend: ReplayBackend, query: str
) -> None:
    store = f"sqlite://{tmp_path}/antiphon.db"
    async with rivals(tmp_path, store, backend.url, ANTIPHON_MAX_BODIES=str(ROOM)) as both:
        request_body = {
            "model": "m",
            "input": "A",
            "instructions": "x" * REPLY,
            "background": True,
            "stream": True,
        }
        body = BytesIO(json.dumps(request_body).encode())
        head = {"content-type": "application/json"}
        async with both.a.http.post(f"{both.a.url}/responses", data=body, headers=head) as reply:
            created = await reply.text()
        response_id = created.partition('"id":"')[2].partition('"')[0]
        before = both.peak_memory
        with ExitStack() as stack:
            reads = [
                begin_to_read(both.a, f"/responses/{response_id}{query}", stack)
                for _ in range(CONNECTIONS)
            ]
            replies = await asyncio.gather(*reads)
            status, response = await both.b.respond("B")

            assert any(
                b"server_is_overloaded" in reply or reply.endswith(b"\r\n\r\n") for reply in replies
            )
            assert both.peak_memory - before <= ROOM + MARGIN
            assert (status, response.get("status")) == (200, "completed")
