"""What keys and tenants may spend, what their requests cost, and who may read what all tenants
used.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from antiphon.errors import StoreError
from antiphon.storage.open import open_store
from antiphon.storage.operations import api_keys, budgets, jobs, responses
from antiphon.storage.records.money import Budget, MoneyClaim, TenantBudget
from antiphon.storage.records.tenants import ApiKey, KeyLimits, Role
from antiphon.storage.store import Store
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions, ModelOptions
from antiphon.upstream.prices import NANO, Prices
from tests.support.changed_stores import replace_operation
from tests.support.keys import bearing, issue, issued
from tests.support.replay import JSON, Answer, ReplayBackend
from tests.support.server import RunningServer, serve
from tests.support.waiting import ended, eventually, until

HI = {"model": "m", "input": "Hi", "max_output_tokens": 100}
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100}

PRICES = Prices(input=2 * NANO, cached_input=NANO // 2, output=10 * NANO)
"""For a million tokens."""

USAGE = {
    "prompt_tokens": 1000,
    "completion_tokens": 50,
    "total_tokens": 1050,
    "prompt_tokens_details": {"cached_tokens": 400},
}
COST = (600 * PRICES.input + 400 * PRICES.cached_input + 50 * PRICES.output) // 1_000_000
"""Of an answer with that usage."""


def answer(request: dict[str, Any]) -> Answer:
    """The answer to any request, with that usage."""
    if request.get("stream"):
        chunk = {
            "id": "c",
            "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}],
        }
        parts = (chunk, {"id": "c", "choices": [], "usage": USAGE})
        return Answer([b"data: " + json.dumps(part).encode() + b"\n\n" for part in parts])
    message = {
        "index": 0,
        "message": {"role": "assistant", "content": "Hi"},
        "finish_reason": "stop",
    }
    return Answer([json.dumps({"id": "c", "choices": [message], "usage": USAGE}).encode()], JSON)


@asynccontextmanager
async def serving(
    backend: ReplayBackend, store: Store, key: str, prices: Prices | None = PRICES
) -> AsyncIterator[RunningServer]:
    """A server with these prices, whose client has a key."""
    backend.script = answer
    options = BackendOptions(configured=(ModelOptions("m", prices=prices),))
    async with serve(
        HttpBackend("replay", backend.url, ""), store=store, shares={"replay": options}
    ) as server:
        server.http.headers.update(bearing(key))
        server.sdk.api_key = key
        yield server


async def spent(server: RunningServer, query: str = "group_by=key") -> list[dict[str, Any]]:
    status, body = await server.get(f"/usage?{query}")
    assert status == 200, body
    rows: Any = body["data"]
    return rows  # type: ignore[no-any-return] # JSON


async def retained(server: RunningServer, key: ApiKey, room: int) -> bool:
    """Whether the key's budget has room for so much."""

    store = server.parts.store
    claim = MoneyClaim(key.tenant, key.id, room, key.limits.budget, key.tenant_budget)
    return (await store.write(api_keys.take, key.id, key.limits, 0, claim)).is_granted


@pytest.mark.wide("postgres")
async def test_every_endpoint_counts_what_its_answer_costs_by_model(
    backend: ReplayBackend, store_url: str
) -> None:
    store = await open_store(store_url)
    key = await issue(store)
    async with serving(backend, store, key) as server:
        for path, body in (
            ("/responses", HI),
            ("/responses", {**HI, "stream": True}),
            ("/chat/completions", CHAT),
            (
                "/chat/completions",
                {**CHAT, "stream": True, "stream_options": {"include_usage": True}},
            ),
        ):
            async with server.http.post(server.url + path, json=body) as response:
                await response.read()
                assert response.status == 200
        queued = await server.sdk.responses.create(model="m", input="Hi", background=True)
        await ended(server.sdk, queued.id)
        (row,) = await spent(server, "group_by=model,key")
        by_day = await spent(server, "group_by=day&group_by=model")

    assert (row["model"], row["requests"]) == ("m", 5)
    assert (row["input_tokens"], row["cached_input_tokens"], row["output_tokens"]) == (
        5000,
        2000,
        250,
    )
    assert (
        row["cost"]
        == {"value": f"{5 * COST / NANO:.4f}", "currency": "USD"}
        == {"value": "0.0095", "currency": "USD"}
    )
    assert "date" not in row
    assert [(one["object"], one["model"], "api_key_id" in one) for one in by_day] == [
        ("usage.day", "m", False)
    ]


@pytest.mark.wide
async def test_two_hundred_at_once_spend_no_more_than_the_budget(
    backend: ReplayBackend, store_url: str
) -> None:
    """Each is expected to cost 1,000 output tokens and some input, which is more than it costs in
    the end.
    """
    store = await open_store(store_url)
    key, stored_key = await issued(store, budget=Budget(per_day=20 * COST))
    async with serving(backend, store, key) as server:
        long = {**HI, "max_output_tokens": 1000}
        answers = await asyncio.gather(*(server.post("/responses", json=long) for _ in range(200)))
        refused = next(reported["error"] for status, reported in answers if status == 429)
        (row,) = await spent(server)
        done = sum(status == 200 for status, _ in answers)
        assert not await retained(server, stored_key, (20 - done) * COST + 1)
        assert await retained(server, stored_key, (20 - done) * COST)

    assert isinstance(refused, dict)
    assert (refused["type"], refused["code"]) == ("insufficient_quota", "insufficient_quota")
    assert "may spend 0.038 USD a day" in refused["message"]
    assert row["requests"] == done == len(backend.requests)


@pytest.mark.wide
async def test_several_answers_or_two_bounds_are_no_way_around_a_budget(
    backend: ReplayBackend, store_url: str
) -> None:
    """The budget has room for 1,000 output tokens."""
    store = await open_store(store_url)
    key = await issue(store, budget=Budget(per_day=1100 * PRICES.output // 1_000_000))
    never = asyncio.Event()
    async with serving(backend, store, key) as server, asyncio.timeout(10):
        for more in ({"n": 10}, {"max_completion_tokens": 1, "max_tokens": 1000}):
            backend.script = lambda _: Answer([], JSON, wait=never)
            waits = asyncio.create_task(server.post("/chat/completions", json={**CHAT, **more}))
            await until(lambda: backend.requests)
            assert (await server.post("/chat/completions", json={**CHAT, "max_tokens": 200}))[
                0
            ] == 429
            waits.cancel()
            await asyncio.wait([waits])
            await until(lambda: not server.parts.jobs.meter.in_progress)
            await server.parts.jobs.meter.settle()
            backend.requests.clear()


@pytest.mark.parametrize("parameter", ["models", "provider", "fallbacks"])
async def test_a_key_with_a_budget_may_not_have_its_backend_call_another_model(
    parameter: str, backend: ReplayBackend
) -> None:
    store = await open_store("sqlite://")
    key = await issue(store, budget=Budget(per_day=NANO))
    free = await issue(store, "other")
    async with serving(backend, store, key) as server:
        refused = await server.post("/chat/completions", json={**CHAT, parameter: ["dear"]})
        passed = await server.post(
            "/chat/completions", json={**CHAT, parameter: ["dear"]}, headers=bearing(free)
        )
        assert len(backend.requests) == 1

    error: Any = refused[1]["error"]
    assert (refused[0], error["code"], error["param"]) == (400, "unsupported_parameter", parameter)
    assert "has a budget" in error["message"]
    assert passed[0] == 200


@pytest.mark.wide("postgres")
async def test_two_replicas_share_the_budget_of_a_tenant(store_url: str) -> None:
    stores = [await open_store(store_url) for _ in range(2)]
    await stores[0].write(budgets.put_tenant, TenantBudget("acme", Budget(per_month=1000)))
    keys = [(await issued(stores[0]))[1] for _ in range(2)]

    claims = [MoneyClaim("acme", key.id, 100, None, Budget(per_month=1000)) for key in keys]
    takes = [
        store.write(api_keys.take, one.key_id, KeyLimits(), 0, one)
        for store in stores
        for one in claims * 30
    ]
    states = await asyncio.gather(*takes)
    assert sum(state.is_granted for state in states) == 10
    for store in stores:
        await store.close()


async def test_the_budget_of_a_tenant_ends_the_requests_of_all_its_keys(
    backend: ReplayBackend, store_url: str
) -> None:
    store = await open_store(store_url)
    await store.write(budgets.put_tenant, TenantBudget("acme", Budget(per_month=2 * COST)))
    key = await issue(store)
    other = await issue(store)
    stranger = await issue(store, "others")
    async with serving(backend, store, key) as server:
        first = await server.post("/chat/completions", json=CHAT)
        await server.parts.jobs.meter.settle()
        second = await server.post("/chat/completions", json=CHAT)
        await server.parts.jobs.meter.settle()
        third = await server.post("/chat/completions", json=CHAT, headers=bearing(other))
        fourth = await server.post("/chat/completions", json=CHAT, headers=bearing(stranger))

    assert [status for status, _ in (first, second, third, fourth)] == [200, 200, 429, 200]
    assert "your organization may spend 0.0038 USD a month" in str(third[1])


async def test_a_failed_request_gives_back_what_was_reserved(
    backend: ReplayBackend, store_url: str
) -> None:
    store = await open_store(store_url)
    key, stored_key = await issued(store, budget=Budget(per_day=COST))
    async with serving(backend, store, key) as server:
        backend.script = lambda _: Answer([b'{"error":{"message":"no"}}'], JSON, 400)
        for path, body in (("/responses", HI), ("/chat/completions", CHAT)):
            assert (await server.post(path, json=body))[0] == 400
            await server.parts.jobs.meter.settle()
        queued = await server.sdk.responses.create(
            model="m", input="Hi", background=True, max_output_tokens=100
        )
        await ended(server.sdk, queued.id)
        # It is charged once the store has acknowledged its end, which clients can see before.
        await eventually(lambda: retained(server, stored_key, COST))


async def test_a_queued_response_is_returned_although_the_store_did_not_acknowledge_it(
    backend: ReplayBackend,
) -> None:
    store = await open_store("sqlite://")
    key, stored_key = await issued(store, budget=Budget(per_day=10 * COST))
    async with serving(backend, store, key) as server:

        async def unanswered(*queued: Any, **how: Any) -> Any:
            await enqueue(*queued, **how)
            raise StoreError("The connection was lost.")

        enqueue = replace_operation(server.parts.store, jobs.enqueue, unanswered)
        queued = await server.sdk.responses.create(**HI, background=True)
        done = await ended(server.sdk, queued.id)
        await eventually(lambda: retained(server, stored_key, 9 * COST))
        assert not await retained(server, stored_key, COST)

    assert done.output_text == "Hi"


@pytest.mark.parametrize("is_stored", [True, False])
async def test_a_job_settles_its_reservation_if_its_client_cannot_know_of_it(
    backend: ReplayBackend, is_stored: bool
) -> None:
    store = await open_store("sqlite://")
    key, stored_key = await issued(store, budget=Budget(per_day=10 * COST))
    async with serving(backend, store, key) as server:

        async def unanswered(*queued: Any, **how: Any) -> Any:
            if is_stored:
                await enqueue(*queued, **how)
            raise StoreError("The connection was lost.")

        async def unread(*requested: Any, **how: Any) -> Any:
            raise StoreError("The database cannot be read.")

        enqueue = replace_operation(server.parts.store, jobs.enqueue, unanswered)
        load = replace_operation(server.parts.store, responses.load, unread)
        status, _ = await server.post("/responses", json={**HI, "background": True})
        replace_operation(server.parts.store, responses.load, load)
        assert status == 503
        if is_stored:
            await until(lambda: backend.requests)
            await eventually(lambda: retained(server, stored_key, 9 * COST))
        else:  # what may have been stored stays reserved
            await server.parts.jobs.meter.settle()
            assert not await retained(server, stored_key, 10 * COST)


async def test_a_key_with_a_budget_may_not_use_a_model_without_a_price(
    backend: ReplayBackend,
) -> None:
    store = await open_store("sqlite://")
    key = await issue(store, budget=Budget(per_day=NANO))
    free = await issue(store)
    async with serving(backend, store, key, prices=None) as server:
        refused = await server.post("/responses", json=HI)
        unknown = await server.post("/responses", json={**HI, "model": "none"})
        others = await server.post("/responses", json=HI, headers=bearing(free))
        assert len(backend.requests) == 1

    assert refused[0] == 400
    error: Any = refused[1]["error"]
    assert (error["code"], error["param"]) == ("model_has_no_price", "model")
    assert unknown[1]["error"]["code"] == "model_not_found"  # type: ignore[index] # JSON
    assert others[0] == 200


async def test_a_fallback_without_a_price_is_no_way_around_a_budget(backend: ReplayBackend) -> None:
    backend.models = [{"id": "m"}, {"id": "spare"}]
    store = await open_store("sqlite://")
    shares = BackendOptions(configured=(ModelOptions("m", prices=PRICES),))
    key = await issue(store, budget=Budget(per_day=NANO))
    host = HttpBackend("replay", backend.url, "")
    async with serve(
        host, store=store, shares={"replay": shares}, fallback={"m": ["spare"]}
    ) as server:
        refused = await server.post("/responses", json=HI, headers=bearing(key))

    assert refused[0] == 400
    assert "'spare' has no price" in str(refused[1])


async def test_a_model_that_clients_make_up_is_counted_as_other(backend: ReplayBackend) -> None:
    store = await open_store("sqlite://")
    key = await issue(store)
    backend.script = answer
    shares = {"replay": BackendOptions(models=frozenset({"*"}))}
    async with serve(HttpBackend("replay", backend.url, ""), store=store, shares=shares) as server:
        server.http.headers.update(bearing(key))
        for number in range(3):
            assert (
                await server.post("/chat/completions", json={**CHAT, "model": f"made-up-{number}"})
            )[0] == 200
        assert [
            (row["model"], row["requests"]) for row in await spent(server, "group_by=model")
        ] == [("other", 3)]


async def test_an_administrators_key_reads_the_usage_of_all_tenants(
    backend: ReplayBackend, store_url: str
) -> None:
    store = await open_store(store_url)
    key = await issue(store)
    boss = await issued(store, "bosses")
    await store.write(api_keys.put, replace(boss[1], role=Role.ADMIN))
    async with serving(backend, store, key) as server:
        await server.post("/responses", json=HI)
        server.http.headers.update(bearing(boss[0]))
        await server.post("/responses", json=HI)
        all_tenants = await spent(server, "tenant=*&group_by=tenant")
        one = await spent(server, "tenant=acme&group_by=tenant")
        own = await spent(server, "group_by=tenant")
        server.http.headers.update(bearing(key))
        refused = [await server.get(f"/usage?tenant={name}") for name in ("*", "bosses")]
        mine = await spent(server, "tenant=acme&group_by=tenant")
        wrong = await server.get("/usage?group_by=nonsense")

    assert [(row["tenant"], row["requests"]) for row in all_tenants] == [("acme", 1), ("bosses", 1)]
    assert [row["tenant"] for row in (*one, *own, *mine)] == ["acme", "bosses", "acme"]
    assert [status for status, _ in refused] == [403, 403]
    assert refused[0][1]["error"]["code"] == "not_allowed"  # type: ignore[index] # JSON
    assert wrong[0] == 400
