"""10,000 responses of all ends: the list, its export, the figures by each group and step, and the
database itself have the same responses, tokens and cost.
"""

import json
import time
from collections.abc import AsyncIterator, Iterator
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from antiphon.query.response_filters import STATUSES
from antiphon.storage.operations import api_keys, facts, figures
from antiphon.storage.operations.step import Operation, query_composed, reads
from antiphon.storage.records.facts import ESTIMATED, STORED, STREAM, SUMMED, Facts
from antiphon.storage.records.tenants import Role
from antiphon.upstream.prices import NANO
from tests.store.facts import new_facts
from tests.support.keys import issued
from tests.support.server import RunningServer
from tests.support.signed_in import Browser, signed_in

COUNT, AT_ONCE = 10_000, 500

DAY = 86_400

ENDED = [status for status in STATUSES if status not in {"queued", "in_progress"}]


class Sums(NamedTuple):
    """What is compared. The cost is in nano-units."""

    responses: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost: int


def generated(seed: int, now: int) -> Iterator[Facts]:
    """Yield responses of two days, of which some began too long ago to be found by the sums."""
    random = Random(seed)
    for _ in range(COUNT):
        age = random.randrange(2 * DAY)
        began = (now - age) * 1000 + random.randrange(1000)
        took = random.choice((5, 800, 4_000)) if random.random() < 0.95 else 90_000
        used = random.random() < 0.9
        tokens = [random.randrange(5_000) if used else 0 for _ in range(4)]
        yield new_facts(
            tenant=random.choice(("acme", "other")),
            began=began,
            ended=began + took,
            status=random.choice(ENDED),
            model=random.choice(("a", "b", "c", "")),
            backend=random.choice(("gpu-a", "gpu-b", "")),
            key_id=random.choice(("key_1", "key_2", "")),
            conversation_id=random.choice(("conv_1", "")),
            flags=random.choice((STORED, STREAM, ESTIMATED)) | (SUMMED if took > 60_000 else 0),
            input_tokens=tokens[0],
            cached_tokens=tokens[1],
            output_tokens=tokens[2],
            reasoning_tokens=tokens[3],
            cost=random.randrange(10**9) if random.random() < 0.8 else None,
        )


@reads("sums_of_all_facts")
def in_database(tenant: str | None, where: str = "true") -> Operation[Sums]:
    """Return the sums that the database has, without any of the code that figures use."""
    own, values = ("true", ()) if tenant is None else ("tenant = $1", (tenant,))
    columns = ", ".join(f"coalesce(sum({name}), 0)" for name in Sums._fields[1:])
    text = f"SELECT count(*), {columns} FROM facts WHERE {own} AND ({where})"
    (row,) = yield from query_composed(text, values)
    return Sums(*map(int, row))


FILTERS = {
    "model:a": "model = 'a'",
    "-model:a,b": "model NOT IN ('a', 'b')",
    "key:build": "key_id = 'key_1'",
    "key:key_2 status:completed": "key_id = 'key_2' AND status = 'completed'",
    "backend:gpu-*": "backend LIKE 'gpu-%'",
    "status:failed": "status = 'failed'",
    "-status:completed": "status <> 'completed'",
    "status:cancelled OR status:incomplete": "status IN ('cancelled', 'incomplete')",
    "tenant:other": "tenant = 'other'",
    "conversation:conv_1": "conversation_id = 'conv_1'",
    "stream:yes": f"flags & {STREAM} <> 0",
    "stream:no status:failed": f"flags & {STREAM} = 0 AND status = 'failed'",
    "tokens:>5k": "input_tokens + output_tokens > 5000",
    "cost:>=0.5": "cost >= 500000000",
    "took:>2s": "ended - began > 2000",
}
"""Lines of filters, and the condition that an operator would write to check them."""


@pytest.fixture
async def filled(stateful: RunningServer) -> AsyncIterator[RunningServer]:
    """A server with the responses, of which the older ones are summed up."""
    created = list(generated(38, int(time.time())))
    store = stateful.parts.store
    _, key = await issued(store, "acme")
    await store.write(api_keys.put, replace(key, id="key_1", name="build", digest=b"1"))
    for start in range(0, COUNT, AT_ONCE):
        await store.write(facts.put_new, created[start : start + AT_ONCE])
        if start == COUNT // 2:
            await store.write(figures.sum_up)  # the rest stays apart from the sums
    yield stateful


def of_figures(*found: Any) -> Sums:
    """Return the sums of figures as the API shows them."""
    return Sums(
        *(sum(one[name] for one in found) for name in Sums._fields[:-1]),
        sum(round((one["cost"] or 0) * NANO) for one in found),
    )


def of_rows(rows: list[Any]) -> Sums:
    """Return the sums of a list of responses."""
    usages = [row["usage"] for row in rows]
    return Sums(
        len(rows),
        sum(one["input_tokens"] for one in usages),
        sum(one["input_tokens_details"]["cached_tokens"] for one in usages),
        sum(one["output_tokens"] for one in usages),
        sum(one["output_tokens_details"]["reasoning_tokens"] for one in usages),
        sum(round((row["cost"] or 0) * NANO) for row in rows),
    )


async def get(browser: Browser, path: str) -> Any:
    answered = await browser.send_request("GET", f"/admin/v1{path}")
    assert answered.status == 200, answered.body
    return answered


async def listed(browser: Browser) -> list[Any]:
    """Return all pages of the list."""
    rows: list[Any] = []
    after = ""
    while True:
        page = (await get(browser, f"/responses?limit=100{after}")).json
        rows += page["data"]
        if not page["has_more"]:
            return rows
        after = f"&after={page['last_id']}"


@pytest.mark.wide
async def test_every_page_has_the_sums_of_the_database(filled: RunningServer) -> None:
    for role, tenant in ((Role.ADMIN, None), (Role.READ, "acme")):
        expected = await filled.parts.store.read(in_database, tenant)
        assert (expected.responses == COUNT) is (tenant is None)
        assert expected.responses > 0
        await check(await signed_in(filled, role), expected)


@pytest.mark.wide
async def test_every_filter_has_the_sums_of_the_database(filled: RunningServer) -> None:
    admin = await signed_in(filled, Role.ADMIN)
    until = int(time.time()) + 60
    for line, condition in FILTERS.items():
        expected = await filled.parts.store.read(in_database, None, condition)
        assert 0 < expected.responses < COUNT, line
        q = f"q={quote(line)}"
        exported = await get(admin, f"/responses/export?format=jsonl&{q}")
        assert of_rows([json.loads(one) for one in exported.body.splitlines()]) == expected, line
        query = f"/figures?by=key&series=2&since={until - 3 * DAY}&until={until}&step=3600&{q}"
        found = (await get(admin, query)).json
        assert of_figures(found["totals"]) == expected, line
        assert of_figures(*found["buckets"]) == expected, line
        assert of_figures(*found["groups"]) == expected, line
        for group in found["groups"]:
            if group["value"]:
                one = await filled.parts.store.read(
                    in_database, None, f"({condition}) AND key_id = '{group['value']}'"
                )
                assert of_figures(group) == one, (line, group["value"])


async def check(browser: Browser, expected: Sums) -> None:
    """Compare what a caller sees with the sums of its responses."""
    exported = [
        json.loads(line)
        for line in (await get(browser, "/responses/export?format=jsonl")).body.splitlines()
    ]
    assert of_rows(exported) == expected
    assert of_rows(await listed(browser)) == expected
    until = int(time.time()) // DAY * DAY + DAY
    for by in ("model", "key", "tenant", "backend"):
        for step in (600, 3_600, DAY):
            since = until - 3 * DAY
            query = f"/figures?by={by}&series=2&since={since}&until={until}&step={step}"
            found = (await get(browser, query)).json
            assert of_figures(found["totals"]) == expected, query
            assert of_figures(*found["buckets"]) == expected, query
            assert of_figures(*found["groups"]) == expected, query
            assert of_figures(*[one for part in found["series"] for one in part["buckets"]]) == (
                expected
            ), query
