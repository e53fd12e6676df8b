"""What a local model breaks is put right before the client has it, or asked for once more."""

import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from antiphon.errors import BackendError
from antiphon.testing import check_event_stream
from antiphon.translation.dialects.profile import ModelProfile
from antiphon.upstream.options import BackendOptions, ModelOptions
from tests.support.extras import without
from tests.support.packages import write_broken
from tests.support.parts import called, plain, query, scripted_parts, stated, stream
from tests.support.replay import delta

RUN: dict[str, Any] = {
    "type": "function",
    "name": "run",
    "parameters": {
        "type": "object",
        "properties": {"cmd": {"type": "string"}},
        "required": ["cmd"],
        "additionalProperties": False,
    },
}
BROKEN = '{"cmd": "echo "hi""}'
HOPELESS = '{"cmd": "echo'
GOOD = '{"cmd": "echo hi"}'


def run(arguments: str, cut: int = 3) -> list[dict[str, Any]]:
    """A call whose arguments come in pieces."""
    first = {
        "index": 0,
        "id": "call_9",
        "type": "function",
        "function": {"name": "run", "arguments": ""},
    }
    pieces = [arguments[start : start + cut] for start in range(0, len(arguments), cut)]
    grown = [delta(tool_calls=[{"index": 0, "function": {"arguments": piece}}]) for piece in pieces]
    return [delta(tool_calls=[first]), *grown, delta("tool_calls")]


def arguments_of(events: list[dict[str, Any]]) -> list[str]:
    """The arguments as the client has them: of each call's item, and of its deltas."""
    items = [
        item["arguments"]
        for item in events[-1]["response"]["output"]
        if item["type"] == "function_call"
    ]
    deltas = "".join(
        e["delta"] for e in events if e["type"] == "response.function_call_arguments.delta"
    )
    return [*items, deltas]


async def test_arguments_stream_as_they_come_and_what_is_broken_is_repaired_at_the_end() -> None:
    created, backend = scripted_parts(run(BROKEN))
    events = await stream(created, tools=[RUN])

    assert [json.loads(text) for text in arguments_of(events)] == [{"cmd": 'echo "hi"'}] * 2
    assert [e["delta"] for e in events if e["type"].endswith("arguments.delta")][:4] == [
        '{"c',
        "md",
        '": "',
        "ech",
    ]
    assert check_event_stream(events) == []
    assert len(backend.requests) == 1


async def test_without_the_repair_packages_the_model_is_called_again() -> None:
    with without("correct"):
        created, backend = scripted_parts(called("run", '{"cmd": "ls",}'), called("run", GOOD))
        response = await query(created, tools=[RUN])

    assert [item["arguments"] for item in response["output"]] == [GOOD]
    assert len(backend.requests) == 2


async def test_with_a_broken_repair_package_the_model_is_called_again_and_the_log_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with without("correct"):
        del sys.modules["json_repair"]
        write_broken(tmp_path, "json_repair", "a shared library that is gone")
        monkeypatch.syspath_prepend(tmp_path)
        created, _ = scripted_parts(called("run", '{"cmd": "ls",}'), called("run", GOOD))
        response = await query(created, tools=[RUN])

    assert [item["arguments"] for item in response["output"]] == [GOOD]
    assert "json_repair 99.1 cannot be loaded" in caplog.text


@pytest.mark.parametrize("cut", range(1, 9))
@pytest.mark.parametrize(
    "broken",
    [
        BROKEN,
        '{"cmd": "a\nb"}',
        '{"cmd": "ls",}',
        '{"cmd": "ls"',
        "{'cmd': 'ls'}",
        '```json\n{"cmd": "ls"}\n```',
    ],
)
async def test_wherever_chunks_are_cut_the_deltas_are_the_arguments(broken: str, cut: int) -> None:
    created, backend = scripted_parts(run(broken, cut))
    events = await stream(created, tools=[RUN])
    item, deltas = arguments_of(events)
    assert item == deltas
    assert set(json.loads(item)) == {"cmd"}
    assert check_event_stream(events) == []
    assert len(backend.requests) == 1


@pytest.mark.parametrize("native", ["max_output_tokens", "length", "MAX_TOKENS"])
@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_call_cut_by_the_token_limit_is_neither_repaired_nor_requested_again(
    native: str, is_stream: bool
) -> None:
    chunks = run(HOPELESS)
    chunks[-1]["choices"][0]["native_finish_reason"] = native
    usage = {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34}
    created, backend = scripted_parts([*chunks, {"choices": [], "usage": usage}], run(GOOD))
    body = {"tools": [RUN]}
    response = (
        (await stream(created, **body))[-1]["response"]
        if is_stream
        else await query(created, **body)
    )

    assert response["status"] == "incomplete"
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}
    assert [(item["arguments"], item["status"]) for item in response["output"]] == [
        (HOPELESS, "incomplete")
    ]
    assert response["usage"]["total_tokens"] == 34
    assert len(backend.requests) == 1


async def test_sound_arguments_are_not_touched() -> None:
    text = '{ "cmd" : "\\u00e9" }'
    created, backend = scripted_parts(run(text))
    assert arguments_of(await stream(created, tools=[RUN])) == [text, text]
    assert len(backend.requests) == 1


@pytest.mark.parametrize("is_stream", [False, True])
async def test_an_irreparable_call_is_requested_once_more_with_the_error_and_a_forced_choice(
    is_stream: bool,
) -> None:
    created, backend = scripted_parts(run(HOPELESS), run(GOOD))
    if is_stream:
        events = await stream(created, tools=[RUN])
        assert check_event_stream(events) == []
        assert arguments_of(events) == [GOOD, GOOD]
        response = events[-1]["response"]
    else:
        response = await query(created, tools=[RUN])
    again = backend.requests[1]

    assert [(item["call_id"], item["arguments"]) for item in response["output"]] == [
        ("call_9", GOOD)
    ]
    assert again["tool_choice"] == {"type": "function", "function": {"name": "run"}}
    assert HOPELESS in again["messages"][-1]["content"]
    assert again["messages"][-2]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert ("exactly like this" in again["messages"][-1]["content"]) is is_stream


@pytest.mark.parametrize(
    "second",
    [
        run('{"cmd": "ls"}'),
        run(HOPELESS),
        stated("No."),
        BackendError("Gone."),
        (400, {"error": "no"}),
    ],
)
async def test_a_second_answer_that_does_not_continue_what_was_sent_leaves_the_first(
    second: Any, caplog: pytest.LogCaptureFixture
) -> None:
    created, backend = scripted_parts(run(HOPELESS), second)
    with caplog.at_level(logging.WARNING):
        events = await stream(created, tools=[RUN])

    assert arguments_of(events) == [HOPELESS, HOPELESS]
    assert events[-1]["response"]["status"] == "completed"
    assert check_event_stream(events) == []
    assert len(backend.requests) == (
        3 if isinstance(second, tuple) else 2
    )  # refused, and in its plainest form
    assert "not a JSON object" in caplog.text


async def test_a_correction_of_a_call_has_no_format_that_the_conversation_sets_for_answers() -> (
    None
):
    update = {"type": "configuration_update", "text": {"format": {"type": "json_object"}}}
    created, backend = scripted_parts(run(HOPELESS), run(GOOD))
    await query(created, input=[{"role": "user", "content": "Hi"}, update], tools=[RUN])

    assert ["response_format" in request for request in backend.requests] == [True, False]


async def test_a_correction_of_a_text_keeps_the_format_that_the_conversation_sets() -> None:
    form = {"type": "json_schema", "name": "s", "schema": {"type": "object", "required": ["a"]}}
    update = {"type": "configuration_update", "text": {"format": form}}
    created, backend = scripted_parts(plain("{}"), plain('{"a": 1}'))
    response = await query(created, input=[{"role": "user", "content": "Hi"}, update])

    assert [request["response_format"]["type"] for request in backend.requests] == [
        "json_schema"
    ] * 2
    assert response["output"][0]["content"][0]["text"] == '{"a": 1}'


async def test_tokens_of_both_answers_count() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    created, _ = scripted_parts(
        [*run(HOPELESS), {"choices": [], "usage": usage}],
        [*run(GOOD), {"choices": [], "usage": usage}],
    )
    assert (await query(created, tools=[RUN]))["usage"]["total_tokens"] == 30


async def test_a_repair_that_does_not_fit_the_tool_is_discarded() -> None:
    created, backend = scripted_parts(run("{'command': 'ls'}"), run(GOOD))
    assert (await query(created, tools=[RUN]))["output"][0]["arguments"] == GOOD
    assert len(backend.requests) == 2


async def test_a_call_that_the_length_cut_off_stays_as_it_is() -> None:
    created, backend = scripted_parts([*run(BROKEN)[:-1], delta("length")])
    events = await stream(created, tools=[RUN])
    assert arguments_of(events) == [BROKEN, BROKEN]
    assert events[-1]["response"]["status"] == "incomplete"
    assert len(backend.requests) == 1


@pytest.mark.parametrize("dialect", ["openai", "groq", "demo"])
async def test_calls_of_services_pass_as_they_come(dialect: str) -> None:
    created, backend = scripted_parts(run(BROKEN), dialect=dialect)
    assert arguments_of(await stream(created, tools=[RUN])) == [BROKEN, BROKEN]
    assert len(backend.requests) == 1


async def test_a_call_of_a_tool_that_was_not_offered_passes_as_it_comes() -> None:
    created, backend = scripted_parts(called("other", BROKEN))
    assert arguments_of(await stream(created, tools=[RUN])) == [BROKEN, BROKEN]
    assert len(backend.requests) == 1


async def test_with_a_weakened_schema_arguments_are_checked_against_the_tools_own() -> None:
    strict = RUN | {
        "parameters": RUN["parameters"]
        | {"properties": {"cmd": {"type": "string", "pattern": "^ls"}}}
    }
    rejected = (
        400,
        {"error": {"message": "Failed to initialize samplers: failed to parse grammar"}},
    )
    created, backend = scripted_parts(rejected, run(GOOD), run('{"cmd": "ls -l"}'))
    events = await stream(created, tools=[strict])

    assert arguments_of(events) == ['{"cmd": "ls -l"}'] * 2
    assert check_event_stream(events) == []
    assert "does not match" in backend.requests[2]["messages"][-1]["content"]


async def test_parallel_calls_are_corrected_each(caplog: pytest.LogCaptureFixture) -> None:
    def call(index: int, arguments: str) -> dict[str, Any]:
        return {
            "index": index,
            "id": f"call_{index}",
            "function": {"name": "run", "arguments": arguments},
        }

    both = [delta(tool_calls=[call(0, HOPELESS), call(1, BROKEN)]), delta("tool_calls")]
    created, _ = scripted_parts(both, run(GOOD))
    events = await stream(created, tools=[RUN])
    assert arguments_of(events)[:2] == [GOOD, '{"cmd": "echo \\"hi\\""}']
    assert check_event_stream(events) == []


# Structured output.

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 3}},
    "required": ["n"],
    "additionalProperties": False,
}


def form(*, strict: bool = True) -> dict[str, Any]:
    return {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": strict}}


def text_of(response: dict[str, Any]) -> str:
    return "".join(part["text"] for item in response["output"] for part in item["content"])


async def test_a_plain_answer_that_breaks_its_schema_is_requested_once_more() -> None:
    created, backend = scripted_parts(plain('{"n": 1}'), plain('{"n": 4}'))
    response = await query(created, text=form())

    assert text_of(response) == '{"n": 4}'
    again = backend.requests[1]
    assert again["messages"][-2] == {"role": "assistant", "content": '{"n": 1}'}
    assert "At $.n: 1 is less than the minimum of 3." in again["messages"][-1]["content"]
    assert again["response_format"] == backend.requests[0]["response_format"]


async def test_what_only_has_a_fence_around_it_is_repaired() -> None:
    created, backend = scripted_parts(plain('```json\n{"n": 5}\n```'))
    assert text_of(await query(created, text=form())) == '{"n":5}'
    assert len(backend.requests) == 1


async def test_a_strict_answer_that_never_fits_fails_with_the_reason() -> None:
    created, backend = scripted_parts(plain('{"n": 1}'), plain("Three."))
    with pytest.raises(BackendError, match=r"schema of 'text\.format'.* second attempt") as caught:
        await query(created, text=form())
    assert caught.value.headers["x-should-retry"] == "false"
    assert '"n"' not in caught.value.gist
    assert len(backend.requests) == 2


async def test_a_loose_answer_is_returned_unchanged_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    created, _ = scripted_parts(plain('{"n": 1}'), plain("Three."))
    with caplog.at_level(logging.WARNING):
        assert text_of(await query(created, text=form(strict=False))) == '{"n": 1}'
    assert "does not fit its schema" in caplog.text


async def test_a_stream_with_sent_text_fails_and_later_ones_wait_and_are_retried() -> None:
    created, backend = scripted_parts(
        stated('{"n"', ": 1}"), stated('{"n"', ": 2}"), stated('{"n"', ": 3}")
    )
    first = await stream(created, text=form())
    second = await stream(created, text=form())

    assert [e["delta"] for e in first if e["type"] == "response.output_text.delta"] == [
        '{"n"',
        ": 1}",
    ]
    assert first[-1]["type"] == "response.failed"
    assert first[-1]["response"]["error"]["code"] == "server_error"
    assert "At $.n: 1 is less" in first[-1]["response"]["error"]["message"]
    assert [e["delta"] for e in second if e["type"] == "response.output_text.delta"] == ['{"n": 3}']
    assert second[-1]["type"] == "response.completed"
    assert check_event_stream(first) == check_event_stream(second) == []
    assert len(backend.requests) == 3


async def test_a_stream_of_a_model_that_no_schema_holds_waits_from_the_first_time_on() -> None:
    created, backend = scripted_parts(stated('{"n"', ": 1}"), stated('{"n": 3}'))
    backends = created.models.backends
    backends[0].update(
        options=BackendOptions(configured=[ModelOptions("m", ModelProfile(json_held=False))])
    )
    events = await stream(created, text=form())

    assert [e["delta"] for e in events if e["type"] == "response.output_text.delta"] == ['{"n": 3}']
    assert len(backend.requests) == 2


async def test_a_stream_of_valid_text_is_emitted_as_received() -> None:
    created, _ = scripted_parts(stated('{"n"', ": 7}"))
    events = await stream(created, text=form())
    assert [e["delta"] for e in events if e["type"] == "response.output_text.delta"] == [
        '{"n"',
        ": 7}",
    ]
    assert events[-1]["type"] == "response.completed"


async def test_a_text_with_a_schema_in_words_only_is_sent_at_its_end() -> None:
    created, _ = scripted_parts(stated('```json\n{"n"', ": 7}\n```"), dialect="transformers")
    events = await stream(created, text=form())
    assert [e["delta"] for e in events if e["type"] == "response.output_text.delta"] == ['{"n":7}']
    assert check_event_stream(events) == []


async def test_text_along_with_calls_and_refusals_are_not_judged() -> None:
    call = {"index": 0, "id": "call_1", "function": {"name": "run", "arguments": GOOD}}
    alongside = [delta(content="I look."), delta(tool_calls=[call]), delta("tool_calls")]
    refused = [delta(refusal="I will not."), delta("stop")]
    for is_retained in (False, True):
        created, backend = scripted_parts(alongside, refused)
        requested: dict[str, Any] = {"tools": [RUN], "text": form()}
        if is_retained:
            response = await query(created, **requested)
        else:
            response = (await stream(created, **requested))[-1]["response"]
        assert response["output"][0]["content"][0]["text"] == "I look."
        assert (await query(created, **requested))["output"][0]["content"][0]["type"] == "refusal"
        assert len(backend.requests) == 2


async def test_a_cut_text_is_not_judged() -> None:
    created, backend = scripted_parts([delta(content='{"n"'), delta("length")])
    response = await query(created, text=form())
    assert (response["status"], text_of(response)) == ("incomplete", '{"n"')
    assert len(backend.requests) == 1


@pytest.mark.parametrize("dialect", ["openai", "mistral"])
async def test_services_hold_their_models_to_schemas_themselves(dialect: str) -> None:
    created, backend = scripted_parts(plain('{"n": 1}'), dialect=dialect)
    assert text_of(await query(created, text=form())) == '{"n": 1}'
    assert len(backend.requests) == 1
