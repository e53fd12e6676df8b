"""What a backend's Responses events become, whatever it leaves out or gets wrong."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from antiphon.errors import BackendError
from antiphon.testing import assert_event_stream, check_event_stream, fold
from antiphon.translation.writer import View
from tests.support.chance import examples
from tests.support.native import (
    Passed,
    call,
    deltas,
    frames,
    message,
    opening,
    pass_events,
    pass_on,
    pass_plain,
    response,
    streamed,
    thought,
)
from tests.support.translate import bytewise


def check(passed: Passed) -> Passed:
    assert_event_stream(passed.events)
    assert fold(passed.events) == passed.response
    return passed


def events_of(*items: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for index, item in enumerate(items) for event in deltas(item, index)]


def completed(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": response(*items, **more)}


def texts(passed: Passed) -> list[str]:
    return [
        part["text"]
        for item in passed.output
        if item["type"] == "message"
        for part in item["content"]
    ]


def test_a_text_comes_word_by_word_and_is_whole_at_the_end() -> None:
    passed = check(pass_on(streamed(message("Hello there friend"))))

    assert passed.types == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        *["response.output_text.delta"] * 3,
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert (texts(passed), passed.response["status"]) == (["Hello there friend"], "completed")
    assert passed.response["usage"]["input_tokens_details"]["cached_tokens"] == 3


def test_a_plain_answer_has_all_the_events_of_a_stream() -> None:
    items = thought("blob", "I thought."), message("Hello"), call()
    plain = check(pass_plain(response(*items)))
    whole = check(pass_on(streamed(*items)))

    assert plain.types == whole.types
    assert plain.output == whole.output


@pytest.mark.parametrize(
    "left_out",
    [
        "added",
        "content_part.added",
        "delta",
        "text.done",
        "content_part.done",
        "item.done",
        "response.completed",
    ],
)
def test_an_event_omitted_by_the_backend_is_synthesised(left_out: str) -> None:
    items = message("Hello there"), call(arguments='{"a":1}')
    events = [*events_of(*items), completed(*items)]
    passed = pass_events(*(event for event in events if not event["type"].endswith(left_out)))

    check(passed)
    if left_out == "response.completed":
        assert (passed.response["status"], passed.ending and passed.ending.error) != (
            "completed",
            None,
        )
    else:
        assert texts(passed) == ["Hello there"]
        assert [item["arguments"] for item in passed.output if item["type"] == "function_call"] == [
            '{"a":1}'
        ]


def test_content_only_in_the_final_response_is_emitted() -> None:
    passed = check(pass_events(*opening(), completed(thought("blob"), message("Hello"))))

    assert [item["type"] for item in passed.output] == ["reasoning", "message"]
    assert "response.output_text.delta" in passed.types


def test_a_final_response_with_other_or_no_ids_does_not_repeat_items() -> None:
    final = [message("Hello", "msg_other"), {**call(), "id": None}]
    passed = check(pass_events(*events_of(message("Hello"), call()), completed(*final)))

    assert [item["type"] for item in passed.output] == ["message", "function_call"]


def test_an_item_emitted_twice_counts_once() -> None:
    added, *middle, done = deltas(message("Hello"))
    passed = check(pass_events(added, added, *middle, done, done, completed(message("Hello"))))

    assert texts(passed) == ["Hello"]


def test_an_id_that_the_backend_gives_to_one_after_the_other_is_no_obstacle() -> None:
    passed = check(
        pass_events(*events_of(message("One", "msg_0"), message("Two", "msg_0")), completed())
    )

    assert texts(passed) == ["One", "Two"]


def test_items_side_by_side_keep_their_deltas() -> None:
    """OpenRouter opens the message while the reasoning is open."""
    thinking = {"output_index": 0, "item_id": "rs_1"}
    stating = {"output_index": 1, "item_id": "msg_1"}
    whole = {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "Hm."}],
    }
    passed = pass_events(
        {"type": "response.output_item.added", "output_index": 0, "item": {**whole, "content": []}},
        {
            "type": "response.output_item.added",
            "output_index": 1,
            "item": {"id": "msg_1", "type": "message"},
        },
        {"type": "response.reasoning_text.delta", **thinking, "content_index": 0, "delta": "Hm."},
        {"type": "response.output_text.delta", **stating, "content_index": 0, "delta": "Hello"},
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
        {"type": "response.output_item.done", "output_index": 1, "item": message("Hello", "msg_1")},
        completed(whole, message("Hello", "msg_1")),
    )

    check(passed)
    assert (texts(passed), passed.output[0]["content"][0]["text"]) == (["Hello"], "Hm.")


def test_indexes_and_ids_of_the_backend_are_not_believed() -> None:
    """Every item at index 0, and deltas that name none of them."""
    events = [
        event | {"output_index": 0} for event in events_of(message("One", "a"), message("Two", "b"))
    ]
    passed = check(pass_events(*({**event, "sequence_number": 7} for event in events), completed()))

    assert texts(passed) == ["One", "Two"]


def test_deltas_without_an_open_item_open_one() -> None:
    delta = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0}
    passed = check(
        pass_events(
            *({**delta, "delta": word} for word in ("Hel", "lo")), completed(message("Hello"))
        )
    )

    assert texts(passed) == ["Hello"]


def test_more_than_one_part_and_a_refusal_keep_their_places() -> None:
    parts = [
        {"type": "output_text", "text": "One", "annotations": []},
        {"type": "output_text", "text": "Two", "annotations": []},
        {"type": "refusal", "refusal": "No."},
    ]
    item = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": parts,
    }
    place = {"output_index": 0, "item_id": "msg_1"}
    passed = pass_events(
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.output_text.delta", **place, "content_index": 0, "delta": "One"},
        {"type": "response.output_text.delta", **place, "content_index": 1, "delta": "Tw"},
        {"type": "response.refusal.delta", **place, "content_index": 2, "delta": "No."},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        completed(item),
    )

    check(passed)
    assert [part.get("text", part.get("refusal")) for part in passed.output[0]["content"]] == [
        "One",
        "Two",
        "No.",
    ]


CITED = {
    "type": "url_citation",
    "url": "https://example.org",
    "title": "E",
    "start_index": 0,
    "end_index": 5,
}


@pytest.mark.parametrize("is_streamed", [True, False])
def test_annotations_come_as_they_are_whether_they_stream_or_not(is_streamed: bool) -> None:
    part = {
        "type": "output_text",
        "text": "Hello",
        "annotations": [CITED, CITED, {"type": "of its own"}],
    }
    item = {**message("Hello"), "content": [part]}
    events = deltas(item)
    place = {"output_index": 0, "item_id": "msg_up", "content_index": 0}
    if is_streamed:
        events.insert(
            3, {"type": "response.output_text.annotation.added", **place, "annotation": CITED}
        )
    passed = check(pass_events(*events, completed(item)))

    assert passed.output[0]["content"][0]["annotations"] == [CITED, CITED]


def test_log_probabilities_come_where_the_client_sees_them() -> None:
    logprobs = [{"token": "Hello", "logprob": -0.5, "bytes": [], "top_logprobs": []}]
    place = {"output_index": 0, "item_id": "msg_up", "content_index": 0}
    delta = {"type": "response.output_text.delta", **place, "delta": "Hello", "logprobs": logprobs}
    seen = check(pass_events(delta, completed(message("Hello"))))
    unseen = check(pass_events(delta, completed(message("Hello")), view=View(logprobs=False)))

    assert seen.output[0]["content"][0]["logprobs"] == logprobs
    assert unseen.output[0]["content"][0]["logprobs"] == []


def test_what_the_backend_sealed_is_sealed_again_with_its_id() -> None:
    displayed = check(pass_on(streamed(thought("blob", "One.", "Two.")), view=View(encrypted=True)))
    stored = check(pass_on(streamed(thought("blob", "One."))))

    assert (
        displayed.sealed
        == stored.sealed
        == [{"reasoning": {}, "native": {"id": "rs_up", "encrypted_content": "blob"}}]
    )
    assert "blob" in displayed.output[0]["encrypted_content"]
    assert "encrypted_content" not in stored.output[0]
    assert [part["text"] for part in displayed.output[0]["summary"]] == ["One.", "Two."]


def test_raw_reasoning_is_a_summary_for_a_client_that_requested_one() -> None:
    raw = {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "Hm."}],
    }
    passed = check(pass_on(streamed(raw), view=View(summary=True)))

    assert passed.output[0]["summary"] == [{"type": "summary_text", "text": "Hm."}]
    assert passed.sealed == [{"reasoning": {"think": "Hm."}}]


def test_a_phase_is_stored() -> None:
    assert (
        check(pass_on(streamed(message("Hm", phase="commentary")))).output[0]["phase"]
        == "commentary"
    )


def test_ids_are_ours_and_call_ids_are_the_backends_where_they_are_free() -> None:
    passed = check(
        pass_on(streamed(call(call_id="a"), call(call_id="b"), call(call_id="")), call_ids={"a"})
    )
    ids = [item["call_id"] for item in passed.output]

    assert [item["id"][:3] for item in passed.output] == ["fc_"] * 3
    assert ids[1] == "b"
    assert len({"a", *ids}) == 4


def test_a_call_without_arguments_has_an_empty_object() -> None:
    passed = check(pass_on(streamed(call(arguments=""))))

    assert passed.output[0]["arguments"] == "{}"
    assert passed.stream.has_calls


def test_a_client_that_requests_one_call_receives_one() -> None:
    passed = check(
        pass_on(streamed(message("Hm"), call(call_id="a"), call(call_id="b")), only_one=True)
    )

    assert [item.get("call_id") for item in passed.output] == [None, "a"]


CODE = {
    "id": "ci_1",
    "type": "code_interpreter_call",
    "status": "completed",
    "container_id": "c",
    "code": "1+1",
}


def test_the_steps_of_a_tool_come_in_their_order_around_its_text() -> None:
    place = {"output_index": 0, "item_id": "ci_1"}
    passed = pass_events(
        {"type": "response.output_item.added", "output_index": 0, "item": {**CODE, "code": ""}},
        {"type": "response.code_interpreter_call.interpreting", **place},
        {"type": "response.code_interpreter_call_code.delta", **place, "delta": "1+"},
        {"type": "response.code_interpreter_call.completed", **place},
        {"type": "response.output_item.done", "output_index": 0, "item": {**CODE, "outputs": None}},
        completed(),
    )

    check(passed)
    assert [name.removeprefix("response.code_interpreter_call") for name in passed.types[3:-2]] == [
        ".in_progress",
        "_code.delta",
        "_code.delta",
        "_code.done",
        ".interpreting",
        ".completed",
    ]
    assert (passed.output[0]["code"], passed.output[0]["outputs"]) == ("1+1", None)


LISTED_TOOL = {"name": "t", "input_schema": {}, "annotations": {"read_only": False}}

HOSTED = [
    CODE,
    {"id": "ws_1", "type": "web_search_call", "status": "completed"},
    {
        "id": "ws_1",
        "type": "web_search_call",
        "status": "failed",
        "action": {"type": "search", "query": "q"},
    },
    {
        "id": "fs_1",
        "type": "file_search_call",
        "status": "completed",
        "queries": ["q"],
        "results": None,
    },
    {"id": "ig_1", "type": "image_generation_call", "status": "completed", "result": "aGk="},
    {"id": "mcpl_1", "type": "mcp_list_tools", "server_label": "s", "tools": [LISTED_TOOL]},
    {"id": "mcpl_1", "type": "mcp_list_tools", "server_label": "s", "tools": [], "error": "gone"},
    {
        "id": "mcp_1",
        "type": "mcp_call",
        "name": "t",
        "server_label": "s",
        "arguments": "{}",
        "status": "completed",
    },
    {
        "id": "mcp_1",
        "type": "mcp_call",
        "name": "t",
        "server_label": "s",
        "arguments": "{}",
        "status": "failed",
    },
    {
        "id": "mcpr_1",
        "type": "mcp_approval_request",
        "name": "t",
        "server_label": "s",
        "arguments": "{}",
    },
    {
        "id": "lsh_1",
        "type": "local_shell_call",
        "call_id": "c",
        "status": "completed",
        "action": {"type": "exec"},
    },
    {
        "id": "ctc_1",
        "type": "custom_tool_call",
        "call_id": "c",
        "name": "t",
        "input": "Hi",
        "status": "completed",
    },
    {
        "id": "tsc_1",
        "type": "tool_search_call",
        "arguments": {},
        "execution": "server",
        "status": "completed",
    },
    {
        "id": "tso_1",
        "type": "tool_search_output",
        "tools": [],
        "execution": "server",
        "status": "completed",
    },
    {
        "id": "sh_1",
        "type": "shell_call",
        "call_id": "c",
        "status": "completed",
        "action": {"commands": ["ls", "pwd"]},
    },
    {
        "id": "sho_1",
        "type": "shell_call_output",
        "call_id": "c",
        "status": "completed",
        "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
    },
    {
        "id": "apc_1",
        "type": "apply_patch_call",
        "call_id": "c",
        "status": "completed",
        "operation": {"type": "update_file", "path": "a", "diff": "+1"},
    },
    {
        "id": "apc_1",
        "type": "apply_patch_call",
        "call_id": "c",
        "status": "completed",
        "operation": {"type": "delete_file", "path": "a"},
    },
    {"id": "cm_1", "type": "program", "call_id": "c", "code": "f()", "fingerprint": "x"},
]


def stated(value: Any) -> Any:
    """A value without what is null in it."""
    return (
        {name: each for name, each in value.items() if each is not None}
        if isinstance(value, dict)
        else value
    )


@pytest.mark.parametrize(
    "item", HOSTED, ids=lambda item: f"{item['type']} {item.get('status', '')}"
)
def test_an_item_of_any_tool_comes_through_streamed_or_plain_or_cut(item: dict[str, Any]) -> None:
    whole = check(pass_on(streamed(item)))
    plain = check(pass_plain(response(item)))
    check(pass_events(deltas(item)[0]))

    (mine,) = whole.output
    assert plain.output == whole.output
    assert {name: stated(value) for name, value in mine.items() if name in item} == item | {
        "id": mine["id"]
    }


def test_partial_images_are_numbered_here() -> None:
    item = {"id": "ig_1", "type": "image_generation_call", "status": "completed", "result": "aGk="}
    added, done = deltas(item)
    image = {
        "type": "response.image_generation_call.partial_image",
        "output_index": 0,
        "partial_image_index": 9,
    }
    passed = check(
        pass_events(
            added, *[{**image, "partial_image_b64": "aA==", "size": "1x1"}] * 2, done, completed()
        )
    )

    images = [event for event in passed.events if event["type"].endswith("partial_image")]
    assert [(one["partial_image_index"], one["size"]) for one in images] == [(0, "1x1"), (1, "1x1")]


@pytest.mark.parametrize("kind", ["of_its_own", "compaction", None, 7])
def test_an_item_that_no_client_could_send_back_is_left_out(
    kind: Any, caplog: pytest.LogCaptureFixture
) -> None:
    other = {"id": "x_1", "type": kind, "encrypted_content": "blob"}
    passed = check(
        pass_events(*events_of(other, message("Hello")), completed(other, message("Hello")))
    )

    assert [item["type"] for item in passed.output] == ["message"]
    assert caplog.text.count(f"its type '{kind}' cannot be input of a later request") == 1


@pytest.mark.parametrize("is_streamed", [False, True])
def test_an_answer_of_nothing_but_such_an_item_fails_and_names_it(is_streamed: bool) -> None:
    other = {"id": "x_1", "type": "of_its_own"}
    passed = (
        pass_events(*events_of(other), completed(other))
        if is_streamed
        else pass_plain(response(other))
    )

    assert check(passed).response["status"] == "failed"
    assert "'of_its_own'" in passed.response["error"]["message"]


def test_events_of_its_own_are_left_out() -> None:
    own = {
        "type": "response.of_its_own.delta",
        "output_index": 0,
        "item_id": "msg_up",
        "delta": "x",
    }
    events = deltas(message("Hello"))
    passed = check(
        pass_events(events[0], own, {"type": 7}, {}, *events[1:], completed(message("Hello")))
    )

    assert texts(passed) == ["Hello"]


def test_a_failed_response_has_its_reason() -> None:
    failed = response(
        status="failed", error={"code": "rate_limit_exceeded", "message": "Too fast."}
    )
    passed = check(
        pass_events(*deltas(message("Hm")), {"type": "response.failed", "response": failed})
    )

    assert passed.response["error"] == {
        "code": "rate_limit_exceeded",
        "message": "The backend failed: Too fast.",
    }
    assert (texts(passed), passed.output[0]["status"]) == (["Hm"], "completed")


NEW = {
    "type": "response.output_item.added",
    "output_index": 0,
    "item": {"type": "new_tool_call", "id": "n_1"},
}
WORKING = {"type": "response.new_tool_call.searching", "output_index": 0, "item_id": "n_1"}


@pytest.mark.parametrize(
    "before",
    [(), deltas(message("Hm"))[:1], [NEW], [WORKING]],
    ids=["first", "after output", "after a call of a new kind", "after work"],
)
@pytest.mark.parametrize(
    "error",
    [
        {"error": {"message": "Declined.", "code": 400}},
        {"type": "error", "error": {"type": "invalid_request_error", "message": "Declined."}},
        {"type": "error", "code": "invalid_request_error", "message": "Declined.", "param": None},
        {
            "type": "response.failed",
            "response": response(
                status="failed", error={"code": "invalid_request_error", "message": "Declined."}
            ),
        },
    ],
)
def test_an_error_is_a_refusal_only_before_any_output(error: dict[str, Any], before: Any) -> None:
    ending = pass_events(*before, error).ending

    assert ending is not None
    assert isinstance(ending.error, BackendError)
    assert (ending.error.refusal is not None) == (not before)


@pytest.mark.parametrize(
    "error",
    [
        {"type": "error", "error": {"code": "server_error", "message": "Oh no."}},
        {"type": "error", "code": "server_error", "message": "Oh no.", "param": None},
        {"error": {"message": "Oh no."}},
    ],
)
def test_an_error_in_any_form_ends_it(error: dict[str, Any]) -> None:
    passed = check(pass_events(deltas(message("Hm"))[0], error))

    assert passed.response["error"]["message"] == "The backend failed: Oh no."


@pytest.mark.parametrize("status", ["cancelled", "in_progress", "queued", "failed"])
def test_an_invalid_plain_answer_is_a_failure(status: str) -> None:
    assert check(pass_plain(response(status=status))).response["status"] == "failed"


@pytest.mark.parametrize(
    ("reason", "reported"),
    [
        ("max_output_tokens", "max_output_tokens"),
        ("content_filter", "content_filter"),
        ("max_tool_calls", None),
    ],
)
def test_an_answer_that_stopped_short_ends_in_an_item_that_did(
    reason: str, reported: str | None
) -> None:
    short = response(
        call(), message("Hel"), status="incomplete", incomplete_details={"reason": reason}
    )
    events = events_of(call(), message("Hel"))
    passed = check(pass_events(*events, {"type": "response.incomplete", "response": short}))

    assert passed.response["incomplete_details"] == {"reason": reported or "max_output_tokens"}
    assert [item["status"] for item in passed.output] == ["completed", "incomplete"]


def test_what_is_incomplete_in_the_middle_is_not() -> None:
    item = {**message("Hello"), "status": "incomplete"}
    passed = check(pass_events(*events_of(item, message("There", "msg_2")), completed()))

    assert [item["status"] for item in passed.output] == ["completed", "completed"]


def test_nothing_after_the_end_counts() -> None:
    events = (
        *deltas(message("Hello")),
        completed(message("Hello")),
        *deltas(message("More", "m"), 1),
    )
    passed = check(pass_events(*events))

    assert texts(passed) == ["Hello"]


def test_nothing_after_the_end_is_read_also_in_the_same_read() -> None:
    whole = streamed(message("Hello")) + b"data: nonsense\n\n"

    assert check(pass_on(whole)).response == check(pass_on(bytewise(whole))).response
    assert check(pass_on(whole)).response["status"] == "completed"


def test_a_done_after_the_last_event_changes_nothing_and_one_in_place_of_the_end_breaks_it_off() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    whole = check(pass_on(streamed(message("Hello")) + b"data: [DONE]\n\n"))
    cut = check(pass_on(frames(*deltas(message("Hello"))) + b"data: [DONE]\n\n"))

    assert (whole.response["status"], cut.response["status"]) == ("completed", "failed")


@pytest.mark.parametrize("data", [b"nonsense", b"[]", b'"text"', b"{", b"\xff"])
def test_bytes_that_are_no_events_fail(data: bytes) -> None:
    passed = check(pass_on(b"data: " + data + b"\n\n"))
    plain = check(pass_on(data, is_json=True))

    assert (passed.response["status"], plain.response["status"]) == ("failed", "failed")


def test_half_a_character_is_replaced() -> None:
    delta = (
        rb'{"type":"response.output_text.delta","output_index":0,"content_index":0,'
        rb'"delta":"a\ud83d"}'
    )
    passed = check(pass_on(b"data: " + delta + b"\n\n" + frames(completed())))

    assert texts(passed) == ["a\ufffd"]


ITEMS = [message("Hello there"), thought("blob", "Hm.", "So."), call(arguments='{"a": 1}'), *HOSTED]
JUNK: list[Any] = [None, 7, "", "x", [], {}, [None], {"type": "x"}]


@st.composite
def mangled(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A stream with events left out, said twice, moved, and with fields of any other kind."""
    items = draw(st.lists(st.sampled_from(ITEMS), max_size=4))
    events = [*events_of(*items), completed(*items)]
    events = [event for event in events for _ in range(draw(st.sampled_from([1, 1, 1, 1, 0, 2])))]
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, max(len(events) - 1, 0)))
        if events:
            field = draw(st.sampled_from([*events[place], "item", "part", "delta"]))
            events[place] = {**events[place], field: draw(st.sampled_from(JUNK))}
    return draw(st.permutations(events)) if draw(st.booleans()) else events


LISTED = {"id": "mcpl_1", "type": "mcp_list_tools", "server_label": "s", "tools": [LISTED_TOOL]}
CALLED = {"id": "mcp_1", "type": "mcp_call", "name": "t", "server_label": "s", "arguments": "{}"}
FAILED = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "gone"}]}


@pytest.mark.parametrize("error", ["gone", {"message": "gone"}])
def test_a_list_of_tools_with_an_error_has_no_tools(error: Any) -> None:
    for passed in both_ways(LISTED | {"error": error}):
        assert (passed.output[0]["tools"], passed.output[0]["error"]) == ([], "gone")
        assert passed.types[-3] == "response.mcp_list_tools.failed"


def test_a_list_that_brings_tools_and_then_an_error_has_the_error() -> None:
    added = deltas(LISTED)[0]
    done = deltas(LISTED | {"tools": [], "error": "gone"})[-1]
    (mine,) = check(pass_events({**added, "item": LISTED}, done, completed())).output
    assert (mine["tools"], mine["error"]) == ([], "gone")


@pytest.mark.parametrize("error", ["", [], {}, 0, None])
def test_an_empty_error_is_ignored(error: Any) -> None:
    for passed in both_ways(LISTED | {"error": error}):
        assert passed.output[0]["tools"] == LISTED["tools"]
        assert "error" not in passed.output[0]
    for passed in both_ways(CALLED | {"status": "completed", "output": "12 C", "error": error}):
        assert (passed.output[0]["status"], passed.output[0]["error"]) == ("completed", None)


@pytest.mark.parametrize("tool", ["t", {"input_schema": {}}, {"name": 7}])
def test_a_tool_without_a_name_is_left_out_of_a_list(tool: Any) -> None:
    tools = [tool, {"name": "t", "input_schema": None}]
    for passed in both_ways(LISTED | {"tools": tools}):
        assert passed.output[0]["tools"] == LISTED["tools"]


@pytest.mark.parametrize("status", ["completed", "failed", "incomplete", None])
@pytest.mark.parametrize("error", ["gone", FAILED])
@pytest.mark.parametrize("output", [None, "12 C"])
def test_a_call_with_an_error_has_failed(
    status: str | None, error: Any, output: str | None
) -> None:
    for passed in both_ways(CALLED | {"status": status, "error": error, "output": output}):
        (mine,) = passed.output
        assert (mine["status"], mine["error"], mine["output"]) == ("failed", FAILED, None)
        assert passed.types[-3] == "response.mcp_call.failed"


def test_a_call_that_failed_with_an_output_has_it_as_its_error() -> None:
    for passed in both_ways(CALLED | {"status": "failed", "output": "gone"}):
        (mine,) = passed.output
        assert (mine["status"], mine["error"], mine["output"]) == ("failed", FAILED, None)


def both_ways(item: dict[str, Any]) -> list[Passed]:
    return [check(pass_on(streamed(item))), check(pass_plain(response(item)))]


@pytest.mark.wide
@examples(300)
@given(mangled())
@example(
    [
        {**deltas(LISTED)[0], "item": LISTED},
        deltas(LISTED | {"tools": [], "error": "gone"})[-1],
        completed(),
    ]
)
@example([*events_of(LISTED | {"error": "gone"}), completed()])
@example([*events_of(CALLED | {"status": "completed", "error": "gone"}), completed()])
def test_whatever_comes_the_stream_is_sound(events: list[dict[str, Any]]) -> None:
    passed = pass_events(*events)

    assert [one for one in check_event_stream(passed.events) if one.level == "must"] == []
    assert fold(passed.events) == passed.response
