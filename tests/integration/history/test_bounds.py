"""What is beyond a bound is refused before it is read, and before the model is called."""

import asyncio
import time
from typing import Any

import msgspec
import pytest

from antiphon.errors import ClientError
from antiphon.gateway import Gateway
from antiphon.gateway.parts import Parts
from antiphon.history.chain_cache import ChainCache
from antiphon.history.decoding import FEW
from antiphon.protocol.resources import AddItems, CreateConversation
from antiphon.protocol.validation.validate import (
    decode_add_items,
    decode_create_conversation,
    decode_request,
)
from antiphon.recording.persistence import RequestIdentity
from antiphon.recording.quota import OUTPUT
from antiphon.runs.input_tokens import count_input_tokens
from antiphon.runs.prepare import prepare
from antiphon.runs.run import Run
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.open import open_store
from antiphon.storage.operations import idempotency, responses, sizes
from antiphon.storage.records.responses import ChainExtent
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.changed_stores import replace_operation
from tests.support.parts import begin, query, scripted_parts, stated
from tests.support.waiting import until

HI = {"role": "user", "content": "Hi"}


def bounded(*answers: Any, **bounds: int) -> tuple[Parts, ScriptedBackend]:
    created, model = scripted_parts(*answers)
    for name, value in bounds.items():
        setattr(created.run.history.bounds, name, value)
    return created, model


async def refused(created: Parts, **body: Any) -> tuple[int, str | None, str | None]:
    with pytest.raises(ClientError) as caught:
        await begin(created, **body)
    return caught.value.status, caught.value.code, caught.value.param


async def test_an_input_of_too_many_items_is_refused() -> None:
    created, model = bounded(stated("fine"), stated("fine"), items=3)
    await query(created, input=[HI] * 3)

    assert await refused(created, input=[HI] * 4) == (400, "array_above_max_length", "input")
    assert len(model.requests) == 1
    await query(created, input="a text is one item")


@pytest.mark.parametrize("bounds", [{"history_items": 4}, {"history_bytes": 700}])
async def test_a_chain_that_is_too_long_to_load_is_refused_unread(bounds: dict[str, int]) -> None:
    created, model = bounded(*[stated("fine")] * 3, **bounds)
    first = (await query(created))["id"]
    second = (await query(created, previous_response_id=first))["id"]
    third = (await query(created, previous_response_id=second))["id"]
    read: list[str] = []
    replace_operation(created.store, responses.history, lambda *which: read.append("history"))
    too_long = 400, "context_length_exceeded", "previous_response_id"

    assert await refused(created, previous_response_id=third) == too_long
    with pytest.raises(ClientError, match="context window"):
        await count_input_tokens(
            created.run,
            decode_request(
                b'{"model":"m","input":"a","previous_response_id":"%s"}' % third.encode()
            ),
        )
    created.run.history.chains = type(created.run.history.chains)()
    assert await refused(created, previous_response_id=third) == too_long
    assert (len(model.requests), read) == (3, [])


async def test_of_a_chain_no_more_is_counted_than_a_turn_may_load(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    created, _ = bounded(*[stated("Yes.")] * 6, history_items=100)
    response_id = None
    for _ in range(6):
        response_id = (await query(created, previous_response_id=response_id))["id"]
    created.run.history.bounds.history_items, created.run.history.chains = 3, ChainCache()
    measure = created.store.measure_chain
    counted = []

    async def counting(*args: Any) -> ChainExtent:
        counted.append(await measure(*args))
        return counted[-1]

    monkeypatch.setattr(created.store, "measure_chain", counting)
    monkeypatch.setattr("antiphon.history.chain_cache.MOST_STEPS", 2)

    assert (await refused(created, previous_response_id=response_id))[
        1
    ] == "context_length_exceeded"
    assert [extent.length for extent in counted] == [4]


async def test_one_response_with_too_many_items_is_not_followed() -> None:
    created, model = bounded(stated("fine"), stated("fine"))
    large = (await query(created, input=[HI] * 1500))["id"]
    created.run.history.bounds.history_items = 1500
    assert await refused(created, previous_response_id=large) == (
        400,
        "context_length_exceeded",
        "previous_response_id",
    )
    created.run.history.bounds.history_items = 1501
    await query(created, previous_response_id=large)
    assert len(model.requests) == 2


async def test_an_input_refers_to_no_more_than_a_history_may_have() -> None:
    created, model = bounded(*[stated("fine")] * 3)
    for name in ("a", "b"):
        await query(
            created, input=[{**HI, "type": "message", "id": f"msg_{name}", "content": name * 1000}]
        )
    created.run.history.bounds.history_bytes = 2000
    both = [{"type": "item_reference", "id": f"msg_{name}"} for name in ("a", "b")]
    assert await refused(created, input=both) == (400, "context_length_exceeded", "input")
    await query(created, input=both[:1])
    assert len(model.requests) == 3


async def test_a_conversation_that_is_too_long_is_refused_and_takes_no_more() -> None:
    created, model = bounded(stated("fine"), stated("fine"), conversation_items=4, history_items=4)
    items = decode_create_conversation(
        b'{"items":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}'
    )
    assert isinstance(items, CreateConversation)
    retained = (
        await Gateway(created).conversations.create(items, RequestIdentity(response_id="conv_1"))
    )["id"]
    await query(created, conversation=retained)
    assert await refused(created, conversation=retained) == (
        400,
        "conversation_too_large",
        "conversation",
    )
    more = decode_add_items(b'{"items":[{"role":"user","content":"c"}]}')
    assert isinstance(more, AddItems)
    with pytest.raises(ClientError) as caught:
        await Gateway(created).conversations.add_items("", retained, more, [])
    assert (caught.value.status, caught.value.code) == (400, "conversation_too_large")
    created.run.history.bounds.conversation_items = 1_000
    created.run.history.bounds.history_items = 3
    assert await refused(created, conversation=retained) == (
        400,
        "context_length_exceeded",
        "conversation",
    )
    created.run.history.bounds.history_items = 1_000
    await query(created, conversation=retained)
    assert len(model.requests) == 2


async def test_a_tenant_that_has_stored_its_quota_stores_no_more() -> None:
    created, model = bounded(*[stated("fine")] * 3, stored_bytes=100)
    first = (await query(created))["id"]
    full = 429, "storage_quota_exceeded", None

    assert await refused(created) == full
    with pytest.raises(ClientError, match="quota"):
        await Gateway(created).conversations.create(
            CreateConversation(), RequestIdentity(response_id="conv_1")
        )
    await query(created, store=False)
    await created.store.write(responses.delete, "", first)
    await query(created)
    assert len(model.requests) == 3


@pytest.mark.parametrize("stored", [{"store": True}, {"store": False, "key": "k-2"}])
async def test_requests_that_come_at_once_stay_within_the_quota(stored: dict[str, Any]) -> None:
    created, model = bounded(*[stated("fine")] * 4, stored_bytes=2 * OUTPUT)
    under_way = [await begin_with(created, 100) for _ in range(2)]
    with pytest.raises(ClientError, match="reserved for your requests in progress") as caught:
        await begin_with(created, 100, **stored)
    assert (caught.value.status, caught.value.code) == (429, "storage_quota_exceeded")
    assert len(model.requests) == 0

    for run in under_way:
        await run.result()
    third = await begin_with(created, 100, **stored)
    await third.result()
    assert len(model.requests) == 3
    assert await created.store.read(sizes.stored_bytes, "") < 2 * OUTPUT


async def test_background_requests_that_come_at_once_stay_within_the_quota() -> None:
    created, _ = bounded(stored_bytes=OUTPUT)
    body = b'{"model":"m","input":"Hi","background":true}'
    reported = await asyncio.gather(
        *(
            Gateway(created).queue.enqueue(decode_request(body), body, RequestIdentity())
            for _ in range(4)
        ),
        return_exceptions=True,
    )
    refused = [one for one in reported if isinstance(one, ClientError)]
    assert [(one.status, one.code) for one in refused] == [(429, "storage_quota_exceeded")] * 3
    await Gateway(created).queue.enqueue(decode_request(body), body, RequestIdentity())


async def test_what_comes_to_nothing_reserves_nothing() -> None:
    created, model = bounded(stated("fine"), stored_bytes=OUTPUT)
    with pytest.raises(ClientError):
        await begin_with(created, 100, previous_response_id="resp_unknown")
    await (await begin_with(created, 100)).result()
    assert len(model.requests) == 1


async def begin_with(created: Parts, size: int, key: str = "", **body: Any) -> Run:
    """Begin a response of a request of so many bytes."""
    response_id = created.run.new_id("resp")
    if key:
        await created.store.write(
            idempotency.reserve, "", key, b"print", response_id, created.process.worker
        )
    identity = RequestIdentity("", response_id, key, size=size)
    request = decode_request(msgspec.json.encode({"model": "m", "input": "Hi", **body}))
    return Run(await prepare(created.run, request, identity), created.run)


async def test_a_reply_that_would_be_stored_counts_towards_the_quota() -> None:
    created, model = bounded(stated("fine"), stated("fine"), stored_bytes=100)
    await (await begin_with(created, 100, "k-1", store=False)).result()
    with pytest.raises(ClientError, match="quota"):
        await begin_with(created, 100, "k-2", store=False)
    assert await created.store.read(idempotency.find, "", "k-2") is None
    await query(created, store=False)
    assert len(model.requests) == 2


async def test_long_histories_are_decoded_when_it_is_their_turn(store_url: str) -> None:
    store = await open_store(store_url)
    created, _ = scripted_parts(stated("fine"), stated("short"), stated("again"), store=store)
    created.run.now = time.time
    large = await query(created, input=[HI] * (5 * FEW))
    stored = await store.read(responses.load, "", large["id"])
    assert stored is not None
    created.run.history.reads = FairScheduler(1, 10)
    await created.run.history.reads.enter("another")
    waiting = asyncio.create_task(query(created, previous_response_id=large["id"]))
    short = await query(created, input="short")
    await until(lambda: created.run.history.reads.waiting)
    assert (short["status"], created.run.history.reads.waiting, waiting.done()) == (
        "completed",
        1,
        False,
    )
    created.run.history.reads.leave("another")
    assert (await waiting)["status"] == "completed"
    assert created.run.history.reads.in_use == 0
    await store.close()
