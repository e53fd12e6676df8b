"""The response cache of a process: what is given again, to whom, and what the backend sees of
it.
"""

import asyncio
import time
from typing import Any

import msgspec
import pytest

from antiphon.cache import cache, single_flight
from antiphon.cache.cache import AnswerCache, CacheRoom
from antiphon.errors import AntiphonError, BackendError, StoreError
from antiphon.gateway import Gateway
from antiphon.gateway.parts import Parts
from antiphon.protocol.validation.validate import decode_request
from antiphon.recording.persistence import RequestIdentity
from antiphon.storage.operations import answers as stored_answers
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.telemetry.metrics import Measures, ModelNames, ResponseMetrics
from antiphon.testing import check_event_stream
from antiphon.upstream.options import BackendOptions
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.changed_stores import replace_operation
from tests.support.parts import (
    NOW,
    Listed,
    begin,
    called,
    plain,
    query,
    scripted_parts,
    stated,
    stream,
)
from tests.support.replay import delta, sse

CACHED = {"antiphon": {"cache": True}}


def share(parts: Parts, share: BackendOptions) -> None:
    """Say this of the one backend."""
    parts.models.backends[0].update(options=share)


def text_of(response: dict[str, Any]) -> str:
    return "".join(part["text"] for item in response["output"] for part in item.get("content", ()))


async def test_without_a_request_for_it_no_answer_is_reused() -> None:
    created, backend = scripted_parts(stated("one"), stated("two"))
    assert [text_of(await query(created)) for _ in range(2)] == ["one", "two"]
    assert len(backend.requests) == 2


async def test_the_same_question_is_answered_from_the_cache_with_an_id_of_its_own() -> None:
    created, backend = scripted_parts(stated("one"))
    first = await query(created, **CACHED)
    second = await query(created, **CACHED)
    assert len(backend.requests) == 1
    assert text_of(first) == text_of(second) == "one"
    assert first["id"] != second["id"]
    assert first["output"][0]["id"] != second["output"][0]["id"]
    assert first["usage"] == second["usage"]


@pytest.mark.parametrize("answer", [stated("Hel", "lo"), called()])
async def test_a_streamed_answer_is_cached_for_plain_requests_and_vice_versa(answer: Any) -> None:
    created, backend = scripted_parts(answer)
    tools = [{"type": "function", "name": "look", "parameters": {}}]
    streamed = await stream(created, tools=tools, **CACHED)
    again = await stream(created, tools=tools, **CACHED)
    response = await query(created, tools=tools, **CACHED)
    assert len(backend.requests) == 1
    check_event_stream(again)
    reported = [{**item, "id": ""} for item in streamed[-1]["response"]["output"]]
    assert [{**item, "id": ""} for item in again[-1]["response"]["output"]] == reported
    assert [{**item, "id": ""} for item in response["output"]] == reported


async def test_a_cache_hit_emits_all_kinds_of_events_of_the_first_answer() -> None:
    created, _ = scripted_parts([*stated("Hel", "lo")])
    first = await stream(created, **CACHED)
    again = await stream(created, **CACHED)
    kinds = list(dict.fromkeys(event["type"] for event in first))
    assert list(dict.fromkeys(event["type"] for event in again)) == kinds
    assert [event["sequence_number"] for event in again] == list(range(len(again)))


async def test_a_hit_is_stored_and_can_be_followed() -> None:
    created, backend = scripted_parts(stated("one"), stated("two"))
    await query(created, **CACHED)
    hit = await query(created, **CACHED)
    await query(created, input="And then?", previous_response_id=hit["id"])
    assert [message["content"] for message in backend.requests[-1]["messages"]] == [
        "Hi",
        "one",
        "And then?",
    ]


async def test_the_second_turn_after_a_hit_is_a_hit_too() -> None:
    created, backend = scripted_parts(stated("one"), stated("two"))
    for _ in range(2):
        first = await query(created, **CACHED)
        second = await query(created, input="And then?", previous_response_id=first["id"], **CACHED)
        assert text_of(second) == "two"
    assert len(backend.requests) == 2


async def test_reasoning_from_a_cache_hit_can_be_sent_back_sealed() -> None:
    answer = plain("yes", reasoning_content="because")
    created, backend = scripted_parts(answer, stated("two"), dialect="deepseek")
    include = ["reasoning.encrypted_content"]
    first = await query(created, include=include, **CACHED)
    hit = await query(created, include=include, **CACHED)
    assert hit["output"][0]["type"] == "reasoning"
    assert hit["output"][0]["encrypted_content"] == first["output"][0]["encrypted_content"]
    items = [
        {"role": "user", "content": "Hi"},
        *hit["output"],
        {"role": "user", "content": "And then?"},
    ]
    assert (await query(created, input=items))["status"] == "completed"
    assert len(backend.requests) == 2


async def test_two_hundred_equal_requests_at_once_make_one_call() -> None:
    created, backend = scripted_parts(stated("one"))
    answers = await asyncio.gather(*(query(created, **CACHED) for _ in range(200)))
    assert {text_of(answer) for answer in answers} == {"one"}
    assert len({answer["id"] for answer in answers}) == 200
    assert len(backend.requests) == 1


async def test_another_waiter_sends_the_request_if_the_first_one_fails() -> None:
    created, backend = scripted_parts(BackendError("gone"), stated("one"))
    answers = await asyncio.gather(
        *(query(created, **CACHED) for _ in range(20)), return_exceptions=True
    )
    failed = [answer for answer in answers if isinstance(answer, BaseException)]
    assert len(failed) <= 1
    assert len(backend.requests) == 2


async def test_another_waiter_sends_the_request_if_the_first_client_disconnects() -> None:
    created, backend = scripted_parts(stated("never heard"), stated("one"))
    run = await begin(created, stream=True, **CACHED)
    events = run.events()
    await anext(events)  # the model is asked
    others = [asyncio.create_task(query(created, **CACHED)) for _ in range(5)]
    await asyncio.wait(others, timeout=0.05)
    assert not any(other.done() for other in others)
    await events.aclose()
    assert {text_of(answer) for answer in await asyncio.gather(*others)} == {"one"}
    assert len(backend.requests) == 2


CUT = {
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "cut"}, "finish_reason": "length"}
    ]
}
BROKEN = sse(delta(content="half"), done=False)


@pytest.mark.parametrize("answer", [CUT, BROKEN])
async def test_an_incomplete_answer_is_not_cached(answer: Any) -> None:
    created, backend = scripted_parts(answer, stated("whole"))
    run = await begin(created, stream=True, **CACHED)
    async for _ in run.events():
        pass
    assert run.response.status != "completed"
    assert text_of(await query(created, **CACHED)) == "whole"
    assert len(backend.requests) == 2


async def test_an_answer_with_a_server_side_tool_is_not_cached() -> None:
    search = called("tool_search", '{"query": "look"}')
    created, backend = scripted_parts(search, stated("found"), search, stated("found"))
    tools = [
        {"type": "tool_search"},
        {"type": "function", "name": "look", "parameters": {}, "defer_loading": True},
    ]
    for _ in range(2):
        await query(created, tools=tools, **CACHED)
    assert len(backend.requests) == 4


async def test_waiters_for_an_uncached_answer_continue_as_soon_as_that_is_known() -> None:
    tools = [
        {"type": "tool_search"},
        {"type": "function", "name": "look", "parameters": {}, "defer_loading": True},
    ]
    created, _ = scripted_parts(
        called("tool_search", '{"query": "look"}'), *(stated("found") for _ in range(9))
    )
    events = (await begin(created, stream=True, tools=tools, **CACHED)).events()
    others = [asyncio.create_task(query(created, tools=tools, **CACHED)) for _ in range(3)]
    async for batch in events:
        if any(event.type == "response.output_item.added" for event in batch):
            break  # its client reads no further
    async with asyncio.timeout(30):
        assert {text_of(answer) for answer in await asyncio.gather(*others)} == {"found"}
    await events.aclose()


async def test_another_tenant_gets_nothing_of_it() -> None:
    created, backend = scripted_parts(stated("one"), stated("two"))
    request = decode_request(msgspec.json.encode({"model": "m", "input": "Hi", **CACHED}))
    for tenant in ("a", "b", "a", "b"):
        await (await Gateway(created).create(request, RequestIdentity(tenant=tenant))).result()
    assert len(backend.requests) == 2


async def test_refreshing_calls_the_model_and_replaces_the_stored_answer() -> None:
    created, _ = scripted_parts(stated("one"), stated("two"))
    await query(created, **CACHED)
    refreshed = await query(created, antiphon={"cache": {"refresh": True}})
    assert text_of(refreshed) == "two"
    assert text_of(await query(created, **CACHED)) == "two"


async def test_a_stored_answer_expires() -> None:
    now = NOW
    created, backend = scripted_parts(
        stated("one"), stated("two"), store=SqliteStore.open("sqlite://", now=lambda: now)
    )
    await query(created, antiphon={"cache": {"ttl": 10}})
    now += 11
    assert text_of(await query(created, **CACHED)) == "two"
    assert len(backend.requests) == 2


async def test_no_answer_is_cached_longer_than_the_retention() -> None:
    now = NOW
    created, _ = scripted_parts(
        stated("one"), stated("two"), store=SqliteStore.open("sqlite://", now=lambda: now)
    )
    created.run.cache = AnswerCache(
        created.store, created.run.router, created.run.now, CacheRoom(longest=60)
    )
    await query(created, antiphon={"cache": {"ttl": 86_400}})
    now += 61
    assert text_of(await query(created, **CACHED)) == "two"


async def test_a_backend_may_have_the_cache_on_and_a_request_may_have_it_off() -> None:
    created, backend = scripted_parts(stated("one"), stated("two"))
    share(created, BackendOptions(cache=True))
    assert [text_of(await query(created)) for _ in range(2)] == ["one", "one"]
    assert text_of(await query(created, antiphon={"cache": False})) == "two"
    assert len(backend.requests) == 2


async def test_an_unstored_response_is_retained_only_if_its_own_request_demands_it() -> None:
    created, _ = scripted_parts(stated("one"), stated("two"), stated("three"))
    share(created, BackendOptions(cache=True))
    assert [text_of(await query(created, store=False)) for _ in range(2)] == ["one", "two"]
    assert await created.store.read(stored_answers.size) == 0
    assert [text_of(await query(created, store=False, **CACHED)) for _ in range(2)] == [
        "three",
        "three",
    ]


async def test_a_hit_needs_no_backend_and_no_slot() -> None:
    created, backend = scripted_parts(stated("one"))
    await query(created, **CACHED)
    share(created, BackendOptions(concurrency=1, queue=0))
    state = created.models.backends[0]
    await state.slots.enter()
    try:
        assert text_of(await query(created, **CACHED)) == "one"
        with pytest.raises(AntiphonError):
            await query(created, input="Something else", **CACHED)
    finally:
        state.slots.leave(1.0)
    assert len(backend.requests) == 1
    assert state.requested == 1


async def test_a_server_without_a_backend_still_returns_stored_data() -> None:
    created, _ = scripted_parts(stated("one"))
    await query(created, **CACHED)
    name = created.models.backends[0].backend.name
    down = Listed(name, None, url="")
    created.models.assign(
        [down], {name: "generic"}, {name: BackendOptions(models=frozenset({"m"}))}
    )
    assert text_of(await query(created, **CACHED)) == "one"
    with pytest.raises(BackendError):
        await query(created, input="Something else", **CACHED)


async def test_an_answer_that_stands_still_is_not_waited_for_any_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(single_flight, "PATIENCE", 0.05)
    created, backend = scripted_parts(stated("never heard"), stated("one"))
    events = (await begin(created, stream=True, **CACHED)).events()
    await anext(events)  # its client reads no further
    async with asyncio.timeout(30):
        assert text_of(await query(created, **CACHED)) == "one"
    assert len(backend.requests) == 2
    await events.aclose()


async def test_long_waiters_for_a_failed_answer_send_concurrent_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cache, "PATIENCE", -1.0)
    created, backend = scripted_parts(*(BackendError("gone") for _ in range(4)))
    failed = await asyncio.gather(
        *(query(created, **CACHED) for _ in range(4)), return_exceptions=True
    )
    assert all(isinstance(error, BackendError) for error in failed)
    assert len(backend.requests) == 4


async def test_hits_and_misses_are_counted_and_hits_cost_no_tokens() -> None:
    measures = Measures()
    created, _ = scripted_parts(
        plain("one") | {"usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}}
    )
    created.run.observers.add(ResponseMetrics(measures, ModelNames(created.models), time.monotonic))
    for _ in range(3):
        await query(created, **CACHED)
    assert (measures.cache.value("miss"), measures.cache.value("hit")) == (1, 2)
    assert measures.tokens.value("m", "input") == 5
    assert measures.calls.value("scripted", "answered") == 1


async def test_the_answer_of_a_fallback_model_is_not_cached_for_the_requested_model() -> None:
    down = ScriptedBackend(lambda request: BackendError("down"), name="a", models=["m"])
    other = ScriptedBackend(lambda request: stated("from n"), name="b", models=["n"])
    created, _ = scripted_parts()
    created.models.assign([down, other], {"a": "generic", "b": "generic"}, fallback={"m": ["n"]})
    await created.models.refresh()
    for _ in range(2):
        assert (await query(created, **CACHED))["model"] == "n"
    assert len(other.requests) == 2


async def test_an_answer_of_a_backend_that_no_longer_has_the_model_is_not_returned() -> None:
    created, _ = scripted_parts(stated("of the first"))
    await query(created, **CACHED)
    successor = ScriptedBackend([stated("of the second")], name="second", models=["m"])
    created.models.assign([successor], {"second": "generic"})
    assert text_of(await query(created, **CACHED)) == "of the second"


async def test_an_alias_with_a_changed_model_is_answered_again() -> None:
    created, _ = scripted_parts(stated("llama"), stated("qwen"))
    for model, words in (("llama", "llama"), ("qwen", "qwen")):
        backend = created.models.backends[0].backend
        created.models.assign(
            [backend],
            {backend.name: "generic"},
            {backend.name: BackendOptions(aliases={"fast": model})},
        )
        assert text_of(await query(created, model="fast", **CACHED)) == words


async def test_what_the_store_cannot_do_costs_the_answer_nothing() -> None:
    created, backend = scripted_parts(stated("one"), stated("two"))

    async def fails(*args: Any) -> Any:
        raise StoreError("full")

    for operation in (stored_answers.find, stored_answers.put):
        replace_operation(created.store, operation, fails)
    assert [text_of(await query(created, **CACHED)) for _ in range(2)] == ["one", "two"]
    assert len(backend.requests) == 2


async def test_the_least_used_answers_make_room_for_new_ones() -> None:
    created, _ = scripted_parts(*(stated(str(number) * 200) for number in range(40)))
    created.run.cache = AnswerCache(
        created.store, created.run.router, created.run.now, CacheRoom(most_bytes=2000)
    )
    for number in range(40):
        await query(created, input=f"Question {number}", **CACHED)
    assert 0 < await created.store.read(stored_answers.size) <= 2000
