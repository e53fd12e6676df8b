"""Webhooks of A that are never received do not delay those of B."""

import asyncio
from pathlib import Path

from tests.support.hanging import hanging
from tests.support.receiver import receiving
from tests.support.replay import ReplayBackend
from tests.support.rivals import Tenant, rivals

ENDPOINTS = 300
"""What A tries to register."""
JOBS = 10
"""Responses of A, each of which is told to all its endpoints."""
SETTINGS = "webhook_private_addresses = true\ncheck_interval = 0\nconnect_timeout = 30\n"
EVENTS = ["response.completed"]


async def registered(tenant: Tenant, url: str, count: int) -> int:
    """How many endpoints a tenant can register."""
    for number in range(count):
        status, reply = await tenant.send_request(
            "POST", "/webhook_endpoints", name=f"n{number}", url=url, event_types=EVENTS
        )
        if status == 400:
            assert reply["error"]["code"] == "webhook_endpoint_limit_reached"
            return number
        assert status == 200
    return count


async def test_hundreds_of_deliveries_that_hang_do_not_delay_those_of_another_tenant(
    tmp_path: Path, backend: ReplayBackend, store_url: str
) -> None:
    (tmp_path / "antiphon.toml").write_text(SETTINGS)
    async with (
        hanging() as silent,
        receiving() as receiver,
        rivals(tmp_path, store_url, backend.url) as two,
    ):
        endpoints = await registered(two.a, silent.url, ENDPOINTS)
        assert await registered(two.b, receiver.url, 1) == 1
        created = await asyncio.gather(*(two.a.respond(background=True) for _ in range(JOBS)))
        assert {status for status, _ in created} == {200}
        await silent.wait_for(16)
        status, response = await two.b.respond(background=True)
        assert status == 200
        async with asyncio.timeout(15):
            await receiver.wait_for(1)
        assert response["id"].encode() in receiver.received[0][1]
        assert not silent.over.is_set()
    assert endpoints == 20
