"""Connections are shared: one tenant cannot have all of them."""

from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp

from tests.support.keys import bearing
from tests.support.replay import ReplayBackend
from tests.support.rivals import Tenant, rivals

MOST = 20
SHARE = 16


async def attack(tenant: Tenant, stack: AsyncExitStack) -> list[int]:
    """Open twice as many connections as there may be, and keep them; return the statuses of their
    first requests.
    """
    statuses = []
    for _ in range(2 * MOST):
        session = await stack.enter_async_context(
            aiohttp.ClientSession(headers=bearing(tenant.key))
        )
        async with session.get(f"{tenant.url}/models") as reply:
            await reply.read()
            statuses.append(reply.status)
    return statuses


async def test_a_tenant_that_keeps_many_connections_open_leaves_some(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    store = f"sqlite://{tmp_path}/antiphon.db"
    async with (
        rivals(tmp_path, store, backend.url, ANTIPHON_MAX_CONNECTIONS=str(MOST)) as both,
        AsyncExitStack() as stack,
    ):
        statuses = await attack(both.a, stack)
        status, body = await both.b.respond("Hi")

    assert statuses == [200] * SHARE + [503] * (2 * MOST - SHARE)
    assert (status, body.get("status")) == (200, "completed")
