"""What a run does with tools and long contexts beside calling the model once."""

import json
import logging
import time
from contextlib import aclosing
from typing import Any

import msgspec
import pytest

from antiphon.errors import BackendError, ClientError
from antiphon.protocol.events import ResponseOutputItemAddedEvent
from antiphon.storage.operations import responses
from antiphon.telemetry.metrics import ModelNames, ResponseMetrics
from antiphon.testing import check_event_stream
from tests.support.parts import begin, called, plain, query, scripted_parts, stated, stream
from tests.support.replay import delta

GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": 'start: "SELECT " /[0-9]+/'}
SQL = {"type": "custom", "name": "sql", "format": GRAMMAR}


def sql(text: str) -> Any:
    return called("sql", json.dumps({"input": text}))


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"].removeprefix("response.") for event in events]


# Grammars.


async def test_an_input_that_fits_its_grammar_goes_out() -> None:
    created, backend = scripted_parts(sql("SELECT 1"))
    events = await stream(created, tools=[SQL])

    assert len(backend.requests) == 1
    assert [e["delta"] for e in events if e["type"].endswith("input.delta")] == ["SELECT 1"]
    assert check_event_stream(events) == []


async def test_one_that_does_not_is_written_again_and_the_client_sees_one_call() -> None:
    created, backend = scripted_parts(sql("SELECT x"), sql("SELECT 7"))
    events = await stream(created, tools=[SQL])
    response = events[-1]["response"]

    assert [(item["type"], item["input"]) for item in response["output"]] == [
        ("custom_tool_call", "SELECT 7")
    ]
    assert "".join(e["delta"] for e in events if e["type"].endswith("input.delta")) == "SELECT 7"
    assert check_event_stream(events) == []
    again = backend.requests[1]
    assert again["tool_choice"] == {"type": "function", "function": {"name": "sql"}}
    assert "line 1, column 8" in again["messages"][-1]["content"]


@pytest.mark.parametrize("second", [sql("SELECT y"), stated("I cannot.")], ids=["unfit", "none"])
async def test_an_answer_that_never_fits_is_returned_unchanged_and_logged(
    second: Any, caplog: pytest.LogCaptureFixture
) -> None:
    created, backend = scripted_parts(sql("SELECT x"), second)
    with caplog.at_level(logging.WARNING):
        response = await query(created, tools=[SQL])

    assert [item["input"] for item in response["output"]] == ["SELECT x"]
    assert (response["status"], len(backend.requests)) == ("completed", 2)
    assert "does not fit its grammar" in caplog.text


async def test_a_backend_that_fails_at_the_second_try_leaves_the_first() -> None:
    created, _ = scripted_parts(sql("SELECT x"), BackendError("Gone."))
    response = await query(created, tools=[SQL])

    assert [item["input"] for item in response["output"]] == ["SELECT x"]


# Searching for tools.


def weather(**more: Any) -> dict[str, Any]:
    return {"type": "function", "name": "get_weather", "description": "Tells the weather.", **more}


CRM = {
    "type": "namespace",
    "name": "crm",
    "description": "Customers and their orders.",
    "tools": [
        {
            "type": "function",
            "name": "list_orders",
            "description": "Lists open orders.",
            "defer_loading": True,
        },
        {
            "type": "function",
            "name": "find_customer",
            "description": "Finds a customer.",
            "defer_loading": True,
        },
    ],
}
SEARCHED = [{"type": "tool_search"}, weather(defer_loading=True), CRM]


async def test_a_search_is_done_here_and_the_model_goes_on_in_the_same_response() -> None:
    created, backend = scripted_parts(
        called("tool_search", '{"query": "orders", "limit": 1}'),
        called("crm__list_orders", "{}", call_id="call_2"),
    )
    events = await stream(created, tools=SEARCHED)
    response = events[-1]["response"]
    search, found, call = response["output"]

    assert check_event_stream(events) == []
    assert kinds(events)[2:6] == ["output_item.added", "output_item.done"] * 2
    assert (search["type"], search["call_id"], search["execution"]) == (
        "tool_search_call",
        None,
        "server",
    )
    assert search["arguments"] == {"query": "orders", "limit": 1}
    assert (found["type"], found["call_id"], found["execution"]) == (
        "tool_search_output",
        None,
        "server",
    )
    assert [(t["name"], [i["name"] for i in t["tools"]]) for t in found["tools"]] == [
        ("crm", ["list_orders"])
    ]
    assert (call["type"], call["namespace"], call["name"]) == (
        "function_call",
        "crm",
        "list_orders",
    )
    first, second = (
        [t["function"]["name"] for t in request["tools"]] for request in backend.requests
    )
    assert (first, second) == (["tool_search"], ["tool_search", "crm__list_orders"])
    assert response["usage"]["total_tokens"] == 0


async def test_a_function_that_was_found_alone_is_its_own_namespace_as_openai_has_it() -> None:
    created, backend = scripted_parts(
        called("tool_search", '{"query": "weather"}'),
        called("get_weather", "{}", call_id="call_2"),
        stated("Sunny."),
    )
    first = await query(created, tools=SEARCHED)
    call = first["output"][-1]
    output = {"type": "function_call_output", "call_id": "call_2", "output": "sun"}
    await query(
        created, tools=SEARCHED, input=[{"role": "user", "content": "Hi"}, *first["output"], output]
    )

    assert (call["namespace"], call["name"]) == ("get_weather", "get_weather")
    sent = backend.requests[-1]["messages"][-2]["tool_calls"][0]["function"]["name"]
    assert sent == "get_weather"


async def test_what_was_found_stays_found_in_the_chain() -> None:
    created, backend = scripted_parts(
        called("tool_search", '{"query": "weather"}'),
        called("get_weather", "{}", call_id="call_2"),
        stated("Sunny."),
    )
    first = await query(created, tools=SEARCHED)
    output = {"type": "function_call_output", "call_id": "call_2", "output": "sun"}
    await query(created, tools=SEARCHED, previous_response_id=first["id"], input=[output])

    assert "get_weather" in [tool["function"]["name"] for tool in backend.requests[-1]["tools"]]
    assert [m["role"] for m in backend.requests[-1]["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]


async def test_a_model_that_only_searches_is_stopped() -> None:
    created, backend = scripted_parts(
        *(called("tool_search", '{"query": "x"}', call_id=f"call_{i}") for i in range(9)),
        stated("!"),
    )
    await query(created, tools=SEARCHED, max_tool_calls=2)

    offered = [
        [tool["function"]["name"] for tool in request.get("tools", [])]
        for request in backend.requests
    ]
    assert offered[:3] == [["tool_search"], ["tool_search"], []]


async def test_usage_is_that_of_all_calls_together() -> None:
    usage = {
        "choices": [],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
    }
    created, _ = scripted_parts(
        [*called("tool_search", '{"query": "weather"}'), usage], [*stated("Hm."), usage]
    )
    response = await query(created, tools=SEARCHED)

    assert (response["usage"]["input_tokens"], response["usage"]["output_tokens"]) == (20, 4)


# What is left out.


async def test_hosted_tools_are_omitted_and_echoed() -> None:
    created, backend = scripted_parts(stated("Hi"))
    response = await query(
        created, tools=[{"type": "web_search"}, weather(), {"type": "image_generation"}]
    )

    assert [tool["function"]["name"] for tool in backend.requests[0]["tools"]] == ["get_weather"]
    assert [tool["type"] for tool in response["tools"]] == [
        "web_search",
        "function",
        "image_generation",
    ]


async def test_they_are_refused_where_the_operator_wants_that() -> None:
    created, backend = scripted_parts(stated("Hi"))
    created.run.rules.strict_tools = True
    with pytest.raises(ClientError, match="web_search") as caught:
        await query(created, tools=[{"type": "web_search"}])

    assert (caught.value.status, caught.value.param, backend.requests) == (400, "tools", [])


async def test_credentials_for_another_server_are_neither_echoed_nor_stored() -> None:
    created, _ = scripted_parts(stated("Hi"))
    tool = {
        "type": "mcp",
        "server_label": "s",
        "server_url": "https://example.com/mcp",
        "authorization": "canary-1",
        "headers": {"x-key": "canary-2"},
    }
    response = await query(created, tools=[tool])
    stored = await created.store.read(responses.load, "", response["id"])

    assert stored is not None
    assert "canary" not in json.dumps(response) + stored.body.decode()


# Compaction.

LONG = [
    {"role": "user", "content": "Build it."},
    {"role": "assistant", "content": "Done: src/a.py."},
]
TRIGGER = {"type": "compaction_trigger"}


async def test_a_trigger_gives_one_compaction_and_nothing_else() -> None:
    created, backend = scripted_parts(stated("We built src/a.py."))
    events = await stream(created, input=[*LONG, TRIGGER])
    response = events[-1]["response"]

    assert [item["type"] for item in response["output"]] == ["compaction"]
    assert kinds(events) == [
        *(
            "created",
            "in_progress",
            "output_item.added",
            "compaction.compacting",
            "output_item.done",
            "completed",
        )
    ]
    assert "src/a.py" not in response["output"][0]["encrypted_content"]
    assert backend.requests[0]["messages"][-1]["role"] == "user"
    assert "summary" in backend.requests[0]["messages"][-1]["content"]


async def test_what_was_compacted_is_opened_again_when_it_comes_back() -> None:
    created, backend = scripted_parts(stated("We built src/a.py."), stated("Yes."))
    compaction = (await query(created, input=[*LONG, TRIGGER], store=False))["output"]
    await query(created, input=[LONG[0], *compaction, {"role": "user", "content": "And then?"}])
    contents = [message["content"] for message in backend.requests[1]["messages"]]

    assert (contents[0], contents[2]) == ("Build it.", "And then?")
    assert "We built src/a.py." in contents[1]


async def test_a_chain_goes_on_from_a_compaction_without_what_came_before() -> None:
    created, backend = scripted_parts(
        stated("Done: src/a.py."), stated("We built src/a.py."), stated("Yes.")
    )
    first = await query(created, input="Build it.")
    second = await query(created, previous_response_id=first["id"], input=[TRIGGER])
    await query(created, previous_response_id=second["id"], input="And then?")
    messages = backend.requests[2]["messages"]

    assert [message["role"] for message in messages] == ["user", "user", "user"]
    assert "We built" in messages[1]["content"]


async def test_the_model_reads_what_a_client_sends_before_a_compaction() -> None:
    created, backend = scripted_parts(stated("We built src/a.py."), stated("Yes."), stated("Tide."))
    compaction = (await query(created, input=[*LONG, TRIGGER], store=False))["output"]
    secret = {"role": "assistant", "content": "The word is tide."}
    again = await query(
        created, input=[secret, *compaction, {"role": "user", "content": "And then?"}]
    )
    await query(created, previous_response_id=again["id"], input="The word?")
    sent, chained = (
        [message["content"] for message in request["messages"]] for request in backend.requests[1:]
    )

    assert (sent[0], sent[2]) == ("The word is tide.", "And then?")
    assert "The word is tide." not in chained
    assert "We built src/a.py." in chained[0]


async def test_a_referenced_compaction_replaces_nothing_either() -> None:
    created, backend = scripted_parts(stated("We built src/a.py."), stated("Yes."))
    created_before = await query(created, input=[*LONG, TRIGGER])
    reference = {"type": "item_reference", "id": created_before["output"][0]["id"]}
    await query(created, input=[LONG[1], reference, {"role": "user", "content": "And then?"}])
    contents = [message["content"] for message in backend.requests[1]["messages"]]

    assert contents[0] == "Done: src/a.py."
    assert "We built src/a.py." in contents[1]


async def test_a_model_that_gives_no_summary_fails_the_trigger() -> None:
    created, _ = scripted_parts(called("look"))
    events = await stream(created, input=[*LONG, TRIGGER], tools=[weather()])

    assert kinds(events)[-2:] == ["error", "failed"]
    assert events[-1]["response"]["error"]["message"] == "The model returned no summary."


def crowded(total: int) -> Any:
    return {
        "choices": [],
        "usage": {"prompt_tokens": total - 5, "completion_tokens": 5, "total_tokens": total},
    }


MANAGED = [{"type": "compaction", "compact_threshold": 1000}]


async def test_a_summary_is_plain_text_whatever_format_the_conversation_sets() -> None:
    form = {"type": "json_schema", "name": "answer", "schema": {"type": "object"}}
    update = {
        "type": "configuration_update",
        "text": {"format": form},
        "reasoning": {"effort": "low"},
    }
    created, backend = scripted_parts(stated("We built src/a.py."), plain("{}"), dialect="openai")
    compacted = await query(created, input=[*LONG, update, TRIGGER])
    await query(created, input=[*LONG, update])
    summary, answer = backend.requests

    assert [item["type"] for item in compacted["output"]] == ["compaction"]
    assert ("response_format" in summary, answer["response_format"]["type"]) == (
        False,
        "json_schema",
    )
    assert summary["reasoning_effort"] == answer["reasoning_effort"] == "low"


async def test_a_compaction_without_effect_is_skipped_and_counted() -> None:
    created, backend = scripted_parts(stated("Yes."), stated("Yes again."))
    created.run.observers.add(
        ResponseMetrics(created.measures, ModelNames(created.models), time.monotonic)
    )
    words = "word " * 3000

    for _ in range(2):
        stated_before = [
            {"role": "user", "content": words},
            {"role": "assistant", "content": "Hm."},
        ]
        await query(
            created,
            input=[*stated_before, {"role": "user", "content": "Well?"}],
            context_management=MANAGED,
        )

    assert len(backend.requests) == 2
    assert sum(created.measures.skipped_compactions.values.values()) == 2


async def test_beyond_the_threshold_a_compaction_follows_the_answer() -> None:
    created, backend = scripted_parts([*stated("Yes."), crowded(2000)], stated("In short."))
    events = await stream(created, input="Hi", context_management=MANAGED)
    response = events[-1]["response"]

    assert [item["type"] for item in response["output"]] == ["message", "compaction"]
    assert check_event_stream(events) == []
    assert (response["status"], len(backend.requests)) == ("completed", 2)


async def test_below_it_nothing_happens() -> None:
    created, backend = scripted_parts([*stated("Yes."), crowded(999)])
    await query(created, input="Hi", context_management=MANAGED)

    assert len(backend.requests) == 1


async def test_an_answer_stands_though_the_summary_fails() -> None:
    created, _ = scripted_parts([*stated("Yes."), crowded(2000)], BackendError("Gone."))
    response = await query(created, input="Hi", context_management=MANAGED)

    assert ([item["type"] for item in response["output"]], response["status"]) == (
        ["message"],
        "completed",
    )


async def test_calls_that_wait_for_the_client_are_not_folded_away() -> None:
    created, backend = scripted_parts([*called("get_weather"), crowded(2000)])
    await query(created, input="Hi", tools=[weather()], context_management=MANAGED)

    assert len(backend.requests) == 1


async def test_a_crowded_context_is_compacted_before_the_model_answers() -> None:
    created, backend = scripted_parts(stated("It rains."), stated("Take an umbrella."))
    call = {"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "rain " * 2000}
    response = await query(
        created,
        input=[{"role": "user", "content": "Weather?"}, call, output],
        tools=[weather()],
        context_management=MANAGED,
    )

    assert [item["type"] for item in response["output"]] == ["compaction", "message"]
    assert [message["role"] for message in backend.requests[1]["messages"]] == ["user", "user"]


async def test_a_context_too_long_to_be_summarised_is_thinned_out() -> None:
    overflow = {"error": {"message": "too long", "code": "context_length_exceeded"}}
    created, backend = scripted_parts((400, overflow), stated("It rains."))
    call = {"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "rain " * 2000}
    response = await query(
        created, input=[{"role": "user", "content": "Weather?"}, call, output, TRIGGER]
    )

    assert response["status"] == "completed"
    shorter = next(m["content"] for m in backend.requests[1]["messages"] if m["role"] == "tool")
    assert len(shorter) == 400


# What backends and models spoil.


async def test_an_input_is_not_written_again_where_the_answer_broke_off() -> None:
    call = {"index": 1, "id": "call_2", "function": {"name": "look", "arguments": '{"a":'}}
    created, backend = scripted_parts(
        [*sql("SELECT x")[:1], delta(tool_calls=[call])], sql("SELECT 1")
    )
    events = await stream(created, tools=[SQL])

    assert (events[-1]["type"], len(backend.requests)) == ("response.failed", 1)
    assert [item["type"] for item in events[-1]["response"]["output"]] == [
        "custom_tool_call",
        "function_call",
    ]
    assert check_event_stream(events) == []


async def test_an_input_that_was_cut_when_it_was_written_again_is_not_taken() -> None:
    created, _ = scripted_parts(sql("SELECT x"), [*sql("SELECT 12")[:1], delta("length")])

    assert [item["input"] for item in (await query(created, tools=[SQL]))["output"]] == ["SELECT x"]


async def test_where_a_call_cannot_be_forced_an_unfit_input_goes_out_as_it_is() -> None:
    created, backend = scripted_parts(sql("SELECT x"))
    (await created.models.find("m")).lessons.learn("tool_choice")
    response = await query(created, tools=[SQL])

    assert [item["input"] for item in response["output"]] == ["SELECT x"]
    assert (response["status"], len(backend.requests)) == ("completed", 1)


@pytest.mark.parametrize("mode", ["auto", "required"])
async def test_a_search_that_is_allowed_may_find_all_there_is(mode: str) -> None:
    created, backend = scripted_parts(called("tool_search", '{"query": "weather"}'), stated("Hm."))
    allowed = [{"type": "tool_search"}, {"type": "function", "name": "get_weather"}]
    choice = {"type": "allowed_tools", "mode": mode, "tools": allowed}
    response = await query(
        created, tools=[{"type": "tool_search"}, weather(defer_loading=True)], tool_choice=choice
    )

    assert response["status"] == "completed"
    assert [tool["function"]["name"] for tool in backend.requests[1]["tools"]] == ["get_weather"]


async def test_a_search_in_the_models_own_words_is_done() -> None:
    created, _ = scripted_parts(called("tool_search", "the weather in Rome"), stated("Hm."))
    search, found, _ = (await query(created, tools=SEARCHED))["output"]

    assert search["arguments"] == {"query": "the weather in Rome"}
    assert [tool["name"] for tool in found["tools"]] == ["get_weather"]


async def test_an_input_that_waits_to_be_stored_survives_a_disconnect() -> None:
    created, _ = scripted_parts(sql("SELECT x"))
    run = await begin(created, stream=True, tools=[SQL])
    async with aclosing(run.events()) as batches:
        async for batch in batches:
            if any(isinstance(event, ResponseOutputItemAddedEvent) for event in batch):
                break
    stored = await created.store.read(responses.load, "", run.response.id)

    assert stored is not None and stored.status == "cancelled"
    assert [msgspec.json.decode(item.body)["input"] for item in stored.output] == ["SELECT x"]


async def test_a_compaction_that_comes_to_nothing_is_closed_all_the_same() -> None:
    created, _ = scripted_parts([delta(content="So far"), {"error": {"message": "It broke."}}])
    events = await stream(
        created, input=[{"role": "user", "content": "Hi"}, {"type": "compaction_trigger"}]
    )

    assert check_event_stream(events) == []
    assert kinds(events)[-4:] == ["compaction.compacting", "output_item.done", "error", "failed"]


async def test_usage_before_a_failed_model_call_is_reported() -> None:
    usage = {
        "choices": [],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
    }
    created, _ = scripted_parts(
        [*called("tool_search", '{"query": "weather"}'), usage],
        (500, {"error": {"message": "Oh."}}),
    )
    events = await stream(created, tools=SEARCHED)

    assert check_event_stream(events) == []
    assert (events[-1]["type"], events[-1]["response"]["usage"]["total_tokens"]) == (
        "response.failed",
        12,
    )
