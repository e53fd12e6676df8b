"""The response cache of a process: what is given again, to whom, and what the backend sees of it."""

import asyncio
import time
from typing import Any

import msgspec
import pytest

from antiphon.cache import cache, single_flight
from antiphon.cache.cache import Cache, Room
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
from tests.support.parts import NOW, Listed, ask, begin, called, plain, said, scripted_parts, stream
from tests.support.replay import delta, sse

CACHED = {"antiphon": {"cache": True}}


def share(parts: Parts, share: BackendOptions) -> None:
    """Say this of the one backend."""
    parts.models.backends[0].update(options=share)


def text_of(response: dict[str, Any]) -> str:
    return "".join(part["text"] for item in response["output"] for part in item.get("content", ()))


async def test_without_being_asked_for_nothing_is_given_again() -> None:
    made, backend = scripted_parts(said("one"), said("two"))
    assert [text_of(await ask(made)) for _ in range(2)] == ["one", "two"]
    assert len(backend.requests) == 2


async def test_the_same_question_is_answered_from_the_cache_with_an_id_of_its_own() -> None:
    made, backend = scripted_parts(said("one"))
    first, second = await ask(made, **CACHED), await ask(made, **CACHED)
    assert len(backend.requests) == 1
    assert text_of(first) == text_of(second) == "one"
    assert first["id"] != second["id"]
    assert first["output"][0]["id"] != second["output"][0]["id"]
    assert first["usage"] == second["usage"]


@pytest.mark.parametrize("answer", [said("Hel", "lo"), called()])
async def test_what_was_made_as_a_stream_is_served_plain_and_the_other_way_round(answer: Any) -> None:
    made, backend = scripted_parts(answer)
    tools = [{"type": "function", "name": "look", "parameters": {}}]
    streamed = await stream(made, tools=tools, **CACHED)
    again = await stream(made, tools=tools, **CACHED)
    response = await ask(made, tools=tools, **CACHED)
    assert len(backend.requests) == 1
    check_event_stream(again)
    told = [{**item, "id": ""} for item in streamed[-1]["response"]["output"]]
    assert [{**item, "id": ""} for item in again[-1]["response"]["output"]] == told
    assert [{**item, "id": ""} for item in response["output"]] == told


async def test_a_hit_tells_all_kinds_of_events_that_the_first_telling_had() -> None:
    made, _ = scripted_parts([*said("Hel", "lo")])
    first, again = await stream(made, **CACHED), await stream(made, **CACHED)
    kinds = list(dict.fromkeys(event["type"] for event in first))
    assert list(dict.fromkeys(event["type"] for event in again)) == kinds
    assert [event["sequence_number"] for event in again] == list(range(len(again)))


async def test_a_hit_is_stored_and_can_be_followed() -> None:
    made, backend = scripted_parts(said("one"), said("two"))
    await ask(made, **CACHED)
    hit = await ask(made, **CACHED)
    await ask(made, input="And then?", previous_response_id=hit["id"])
    assert [message["content"] for message in backend.requests[-1]["messages"]] == ["Hi", "one", "And then?"]


async def test_the_second_turn_after_a_hit_is_a_hit_too() -> None:
    made, backend = scripted_parts(said("one"), said("two"))
    for _ in range(2):
        first = await ask(made, **CACHED)
        second = await ask(made, input="And then?", previous_response_id=first["id"], **CACHED)
        assert text_of(second) == "two"
    assert len(backend.requests) == 2


async def test_reasoning_that_a_hit_tells_can_be_sent_back_sealed() -> None:
    answer = plain("yes", reasoning_content="because")
    made, backend = scripted_parts(answer, said("two"), dialect="deepseek")
    include = ["reasoning.encrypted_content"]
    first = await ask(made, include=include, **CACHED)
    hit = await ask(made, include=include, **CACHED)
    assert hit["output"][0]["type"] == "reasoning"
    assert hit["output"][0]["encrypted_content"] == first["output"][0]["encrypted_content"]
    items = [{"role": "user", "content": "Hi"}, *hit["output"], {"role": "user", "content": "And then?"}]
    assert (await ask(made, input=items))["status"] == "completed"
    assert len(backend.requests) == 2


async def test_two_hundred_equal_requests_at_once_make_one_call() -> None:
    made, backend = scripted_parts(said("one"))
    answers = await asyncio.gather(*(ask(made, **CACHED) for _ in range(200)))
    assert {text_of(answer) for answer in answers} == {"one"}
    assert len({answer["id"] for answer in answers}) == 200
    assert len(backend.requests) == 1


async def test_when_the_one_that_asks_fails_one_of_the_others_asks() -> None:
    made, backend = scripted_parts(BackendError("gone"), said("one"))
    answers = await asyncio.gather(*(ask(made, **CACHED) for _ in range(20)), return_exceptions=True)
    failed = [answer for answer in answers if isinstance(answer, BaseException)]
    assert len(failed) <= 1
    assert len(backend.requests) == 2


async def test_when_the_client_of_the_one_that_asks_leaves_one_of_the_others_asks() -> None:
    made, backend = scripted_parts(said("never heard"), said("one"))
    run = await begin(made, stream=True, **CACHED)
    events = run.events()
    await anext(events)  # the model is asked
    others = [asyncio.create_task(ask(made, **CACHED)) for _ in range(5)]
    await asyncio.wait(others, timeout=0.05)
    assert not any(other.done() for other in others)
    await events.aclose()
    assert {text_of(answer) for answer in await asyncio.gather(*others)} == {"one"}
    assert len(backend.requests) == 2


CUT = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "cut"}, "finish_reason": "length"}]}
BROKEN = sse(delta(content="half"), done=False)


@pytest.mark.parametrize("answer", [CUT, BROKEN])
async def test_an_answer_that_is_not_whole_is_not_kept(answer: Any) -> None:
    made, backend = scripted_parts(answer, said("whole"))
    run = await begin(made, stream=True, **CACHED)
    async for _ in run.events():
        pass
    assert run.response.status != "completed"
    assert text_of(await ask(made, **CACHED)) == "whole"
    assert len(backend.requests) == 2


async def test_an_answer_for_which_this_server_ran_a_tool_is_not_kept() -> None:
    search = called("tool_search", '{"query": "look"}')
    made, backend = scripted_parts(search, said("found"), search, said("found"))
    tools = [{"type": "tool_search"}, {"type": "function", "name": "look", "parameters": {}, "defer_loading": True}]
    for _ in range(2):
        await ask(made, tools=tools, **CACHED)
    assert len(backend.requests) == 4


async def test_those_who_wait_for_what_is_not_kept_go_on_as_soon_as_that_is_known() -> None:
    tools = [{"type": "tool_search"}, {"type": "function", "name": "look", "parameters": {}, "defer_loading": True}]
    made, _ = scripted_parts(called("tool_search", '{"query": "look"}'), *(said("found") for _ in range(9)))
    events = (await begin(made, stream=True, tools=tools, **CACHED)).events()
    others = [asyncio.create_task(ask(made, tools=tools, **CACHED)) for _ in range(3)]
    async for batch in events:
        if any(event.type == "response.output_item.added" for event in batch):
            break  # its client reads no further
    async with asyncio.timeout(30):
        assert {text_of(answer) for answer in await asyncio.gather(*others)} == {"found"}
    await events.aclose()


async def test_another_tenant_gets_nothing_of_it() -> None:
    made, backend = scripted_parts(said("one"), said("two"))
    request = decode_request(msgspec.json.encode({"model": "m", "input": "Hi", **CACHED}))
    for tenant in ("a", "b", "a", "b"):
        await (await Gateway(made).create(request, RequestIdentity(tenant=tenant))).result()
    assert len(backend.requests) == 2


async def test_refreshing_asks_the_model_and_replaces_what_was_kept() -> None:
    made, _ = scripted_parts(said("one"), said("two"))
    await ask(made, **CACHED)
    refreshed = await ask(made, antiphon={"cache": {"refresh": True}})
    assert text_of(refreshed) == "two"
    assert text_of(await ask(made, **CACHED)) == "two"


async def test_a_kept_answer_expires() -> None:
    now = NOW
    made, backend = scripted_parts(said("one"), said("two"), store=SqliteStore.open("sqlite://", now=lambda: now))
    await ask(made, antiphon={"cache": {"ttl": 10}})
    now += 11
    assert text_of(await ask(made, **CACHED)) == "two"
    assert len(backend.requests) == 2


async def test_no_answer_is_kept_longer_than_anything_is() -> None:
    now = NOW
    made, _ = scripted_parts(said("one"), said("two"), store=SqliteStore.open("sqlite://", now=lambda: now))
    made.run.cache = Cache(made.store, made.run.router, made.run.now, Room(longest=60))
    await ask(made, antiphon={"cache": {"ttl": 86_400}})
    now += 61
    assert text_of(await ask(made, **CACHED)) == "two"


async def test_a_backend_may_have_the_cache_on_and_a_request_may_have_it_off() -> None:
    made, backend = scripted_parts(said("one"), said("two"))
    share(made, BackendOptions(cache=True))
    assert [text_of(await ask(made)) for _ in range(2)] == ["one", "one"]
    assert text_of(await ask(made, antiphon={"cache": False})) == "two"
    assert len(backend.requests) == 2


async def test_of_an_unstored_response_nothing_is_kept_unless_its_own_request_asks_for_that() -> None:
    made, _ = scripted_parts(said("one"), said("two"), said("three"))
    share(made, BackendOptions(cache=True))
    assert [text_of(await ask(made, store=False)) for _ in range(2)] == ["one", "two"]
    assert await made.store.read(stored_answers.size) == 0
    assert [text_of(await ask(made, store=False, **CACHED)) for _ in range(2)] == ["three", "three"]


async def test_a_hit_needs_no_backend_and_no_slot() -> None:
    made, backend = scripted_parts(said("one"))
    await ask(made, **CACHED)
    share(made, BackendOptions(concurrency=1, queue=0))
    served = made.models.backends[0]
    await served.slots.enter()
    try:
        assert text_of(await ask(made, **CACHED)) == "one"
        with pytest.raises(AntiphonError):
            await ask(made, input="Something else", **CACHED)
    finally:
        served.slots.leave(1.0)
    assert len(backend.requests) == 1
    assert served.asked == 1


async def test_a_server_that_starts_while_its_backend_is_down_still_gives_what_is_kept() -> None:
    made, _ = scripted_parts(said("one"))
    await ask(made, **CACHED)
    name = made.models.backends[0].backend.name
    down = Listed(name, None, url="")
    made.models.assign([down], {name: "generic"}, {name: BackendOptions(models=frozenset({"m"}))})
    assert text_of(await ask(made, **CACHED)) == "one"
    with pytest.raises(BackendError):
        await ask(made, input="Something else", **CACHED)


async def test_an_answer_that_stands_still_is_not_waited_for_any_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_flight, "PATIENCE", 0.05)
    made, backend = scripted_parts(said("never heard"), said("one"))
    events = (await begin(made, stream=True, **CACHED)).events()
    await anext(events)  # its client reads no further
    async with asyncio.timeout(30):
        assert text_of(await ask(made, **CACHED)) == "one"
    assert len(backend.requests) == 2
    await events.aclose()


async def test_those_who_waited_long_for_what_failed_ask_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "PATIENCE", -1.0)
    made, backend = scripted_parts(*(BackendError("gone") for _ in range(4)))
    failed = await asyncio.gather(*(ask(made, **CACHED) for _ in range(4)), return_exceptions=True)
    assert all(isinstance(error, BackendError) for error in failed)
    assert len(backend.requests) == 4


async def test_hits_and_misses_are_counted_and_hits_cost_no_tokens() -> None:
    measures = Measures()
    made, _ = scripted_parts(plain("one") | {"usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}})
    made.run.observers.add(ResponseMetrics(measures, ModelNames(made.models), time.monotonic))
    for _ in range(3):
        await ask(made, **CACHED)
    assert (measures.cache.value("miss"), measures.cache.value("hit")) == (1, 2)
    assert measures.tokens.value("m", "input") == 5
    assert measures.calls.value("scripted", "answered") == 1


async def test_what_a_fallback_model_said_is_not_kept_as_the_answer_of_the_model_that_was_asked_for() -> None:
    down = ScriptedBackend(lambda request: BackendError("down"), name="a", models=["m"])
    other = ScriptedBackend(lambda request: said("from n"), name="b", models=["n"])
    made, _ = scripted_parts()
    made.models.assign([down, other], {"a": "generic", "b": "generic"}, fallback={"m": ["n"]})
    await made.models.refresh()
    for _ in range(2):
        assert (await ask(made, **CACHED))["model"] == "n"
    assert len(other.requests) == 2


async def test_an_answer_of_a_backend_that_does_not_serve_the_model_any_more_is_not_given() -> None:
    made, _ = scripted_parts(said("of the first"))
    await ask(made, **CACHED)
    successor = ScriptedBackend([said("of the second")], name="second", models=["m"])
    made.models.assign([successor], {"second": "generic"})
    assert text_of(await ask(made, **CACHED)) == "of the second"


async def test_an_alias_that_now_means_another_model_is_answered_anew() -> None:
    made, _ = scripted_parts(said("llama"), said("qwen"))
    for model, words in (("llama", "llama"), ("qwen", "qwen")):
        backend = made.models.backends[0].backend
        made.models.assign(
            [backend], {backend.name: "generic"}, {backend.name: BackendOptions(aliases={"fast": model})}
        )
        assert text_of(await ask(made, model="fast", **CACHED)) == words


async def test_what_the_store_cannot_do_costs_the_answer_nothing() -> None:
    made, backend = scripted_parts(said("one"), said("two"))

    async def fails(*args: Any) -> Any:
        raise StoreError("full")

    for operation in (stored_answers.find, stored_answers.keep):
        replace_operation(made.store, operation, fails)
    assert [text_of(await ask(made, **CACHED)) for _ in range(2)] == ["one", "two"]
    assert len(backend.requests) == 2


async def test_the_least_used_answers_make_room_for_new_ones() -> None:
    made, _ = scripted_parts(*(said(str(number) * 200) for number in range(40)))
    made.run.cache = Cache(made.store, made.run.router, made.run.now, Room(most_bytes=2000))
    for number in range(40):
        await ask(made, input=f"Question {number}", **CACHED)
    assert 0 < await made.store.read(stored_answers.size) <= 2000
