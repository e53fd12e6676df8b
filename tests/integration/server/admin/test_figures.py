"""`/admin/v1/figures`: series of groups over time, which add up to all responses."""

from typing import Any

import pytest

from antiphon.storage.operations import facts
from antiphon.storage.records.tenants import Role
from tests.store.facts import new_facts
from tests.support.keys import issued
from tests.support.server import RunningServer
from tests.support.signed_in import signed_in

FIGURES = "/admin/v1/figures?since=0&until=1200&step=600"


async def test_a_series_has_a_group_over_time_and_the_last_one_all_others(
    stateful: RunningServer,
) -> None:
    _, key = await issued(stateful.parts.store)
    rows: list[dict[str, Any]] = [
        {"key_id": key.id, "began": 1_000, "cost": 3_000_000_000, "output_tokens": 2},
        {"key_id": key.id, "began": 700_000, "cost": 1_000_000_000, "output_tokens": 3},
        {"key_id": "key_old", "began": 2_000, "cost": 2_000_000_000, "status": "failed"},
        {"began": 3_000},
    ]
    known = {"tenant": "acme", "ended": 800_000}
    await stateful.parts.store.write(facts.put_new, [new_facts(**known | row) for row in rows])
    admin = await signed_in(stateful, Role.ADMIN)
    found = (await admin.send_request("GET", f"{FIGURES}&by=key&series=1")).json

    def visible(one: Any) -> list[tuple[int, int, float | None]]:
        return [(each["time"], each["responses"], each["cost"]) for each in one["buckets"]]

    named, others = found["series"]
    assert (named["by"], named["value"], named["name"]) == ("key", key.id, "test")
    assert visible(named) == [(0, 1, 3.0), (600, 1, 1.0)]
    assert (others["value"], others["name"], visible(others)) == (None, None, [(0, 2, 2.0)])
    assert found["totals"]["cost"] == 6.0
    assert "series" not in (await admin.send_request("GET", f"{FIGURES}&by=key")).json
    assert "series" not in (await admin.send_request("GET", f"{FIGURES}&series=2")).json


@pytest.mark.parametrize("value", ["-1", "21", "a"])
async def test_a_number_of_series_is_at_most_20(value: str, stateful: RunningServer) -> None:
    reader = await signed_in(stateful)
    refused = await reader.send_request("GET", f"{FIGURES}&by=key&series={value}")

    assert (refused.status, refused.json["error"]["param"]) == (400, "series")
