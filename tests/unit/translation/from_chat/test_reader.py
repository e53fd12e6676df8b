"""What the traces do not show of `ChatStream`: its options, its ends, and where two things meet."""

import json
from pathlib import Path
from typing import Any

import pytest

from antiphon.errors import BackendError
from antiphon.testing import assert_event_stream
from antiphon.translation.from_chat.decode import decode_chunk
from antiphon.translation.from_chat.finish_reasons import BREAKDOWNS, FINISH_REASONS
from antiphon.translation.from_chat.reader import ChatStream
from antiphon.translation.writer import View
from tests.support.recordings import MISSING, recorded
from tests.support.replay import delta, sse
from tests.support.translate import Translation, begin, end, translate, translate_plain

STOP = delta("stop")
HIGH = "\ud83c"
LOW = "\udf0a"
WAVE = "\U0001f30a"


def streamed(*chunks: dict[str, Any], **options: Any) -> Translation:
    translation = translate(sse(*chunks), **options)
    assert_event_stream(translation.events)
    return translation


def call(arguments: Any = "{}", name: str | None = "tide_at", **fields: Any) -> dict[str, Any]:
    return delta(
        tool_calls=[
            {"index": 0, "id": "call_a", "function": {"name": name, "arguments": arguments}}
            | fields
        ]
    )


def plain(**message: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": "stop"}]}


# How an answer ends.


@pytest.mark.parametrize("reason", FINISH_REASONS)
def test_a_finish_reason_means_one_outcome(reason: str) -> None:
    response = streamed(delta(reason, content="Tide.")).response
    outcome = FINISH_REASONS[reason]
    assert response["status"] == ("completed" if outcome == "completed" else "incomplete")
    assert response["incomplete_details"] == (
        None if outcome == "completed" else {"reason": outcome}
    )


@pytest.mark.parametrize(
    ("reason", "native", "expected"),
    [
        ("tool_calls", "max_output_tokens", "max_output_tokens"),  # recorded: OpenRouter, GPT-4.1
        ("tool_calls", "length", "max_output_tokens"),  # recorded: OpenRouter, GPT-4o
        ("tool_calls", "MAX_TOKENS", "max_output_tokens"),
        ("tool_calls", "max_tokens", "max_output_tokens"),
        ("function_call", "length", "max_output_tokens"),
        ("stop", "model_context_window_exceeded", "max_output_tokens"),
        ("stop", "SAFETY", "content_filter"),
        ("LENGTH", None, "max_output_tokens"),
        ("Max_Tokens", None, "max_output_tokens"),
        # Guards: these mean what they meant.
        ("tool_calls", "tool_use", None),
        ("tool_calls", "completed", None),
        ("STOP", "STOP", None),
        ("length", "stop", "max_output_tokens"),
        ("MAX_TOKENS", None, "max_output_tokens"),
        ("tool_calls", 7, None),
        ("tool_calls", ["length"], None),
    ],
)
@pytest.mark.parametrize("is_plain", [False, True])
def test_the_finish_reason_of_a_server_behind_a_gateway_reports_a_cut_answer(
    reason: str, native: Any, expected: str | None, is_plain: bool
) -> None:
    cut = {
        "index": 0,
        "id": "call_a",
        "function": {"name": "tide_at", "arguments": '{"port": "Bre'},
    }
    content = {"tool_calls": [cut]} if reason not in ("stop", "STOP") else {"content": "Tide."}
    choice = {"index": 0, "finish_reason": reason, "native_finish_reason": native}
    answer = {"choices": [choice | {"message" if is_plain else "delta": content}]}
    translation = translate_plain(answer) if is_plain else streamed(answer)
    assert translation.response["incomplete_details"] == (expected and {"reason": expected})
    if "tool_calls" in content:
        assert translation.calls == [("tide_at", '{"port": "Bre')]


CONTRACT = "openrouter-rig-tool_truncation_contract_matrix.streaming_*_{}_*.sse"


@pytest.mark.skipif(not recorded(CONTRACT.format("low")), reason=MISSING)
@pytest.mark.parametrize(
    "path",
    [*recorded(CONTRACT.format("low")), *recorded(CONTRACT.format("mid"))],
    ids=lambda path: path.stem,
)
def test_a_recorded_call_that_the_token_limit_cut_is_incomplete(path: Path) -> None:
    response = translate(path.read_bytes(), names=["record_city_facts"]).response
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}
    assert response["output"][-1]["status"] == "incomplete"


FLAT = [
    (
        {"choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}},
        "insufficient_quota",
    ),
    ({"base_resp": {"status_code": 1002, "status_msg": "Too busy."}}, "server_error"),
    (
        {"code": 1113, "msg": "Insufficient balance or no resource package.", "success": False},
        "insufficient_quota",
    ),
    ({"code": 500, "msg": "Out of memory.", "success": False}, "server_error"),
    ({"code": "Arrearage", "message": "Access denied."}, "insufficient_quota"),
    ({"code": "InternalError", "message": "Out of memory."}, "server_error"),
    ({"success": False, "message": "Out of memory."}, "server_error"),
]


@pytest.mark.parametrize(("error", "code"), FLAT)
@pytest.mark.parametrize("form", ["plain", "streamed", "bare"])
def test_an_error_in_another_shape_has_its_cause(
    error: dict[str, Any], code: str, form: str
) -> None:
    if form == "plain":
        response = translate_plain(error).response
    elif form == "streamed":
        response = translate(sse(delta(content="Ti"), error)).response
    else:
        response = translate(
            sse(delta(content="Ti"), done=False) + json.dumps(error).encode()
        ).response
    stated = (
        error.get("base_resp", {}).get("status_msg") or error.get("msg") or error.get("message")
    )
    assert response["status"] == "failed"
    assert response["error"] == {"code": code, "message": f"The backend failed: {stated}"}


@pytest.mark.parametrize(
    "more",
    [
        {"base_resp": {"status_code": 0, "status_msg": ""}},
        {"base_resp": {"status_code": 0, "status_msg": "success"}},
        {"code": 200, "msg": "OK", "success": True},
        {"code": 0, "message": "success"},
    ],
)
def test_a_code_of_success_is_no_error(more: dict[str, Any]) -> None:  # a guard
    assert (
        streamed(delta(content="Tide.") | more, STOP | more, {"choices": []} | more).text == "Tide."
    )


@pytest.mark.parametrize(
    "more",
    [
        {"choices": [], "message": "done", "usage": {}},
        {"choices": [], "code": "1000", "msg": "OK"},
        {"choices": [], "code": "1000", "msg": "request complete"},
        {"type": "ping", "message": "keep-alive"},
        {"base_resp": {"status_code": 1, "status_msg": "moderated"}},
    ],
)
@pytest.mark.parametrize("place", ["first", "in the middle", "last"])
def test_an_answer_with_an_end_is_no_error_whatever_its_other_fields(
    more: dict[str, Any], place: str
) -> None:
    chunks = [delta(content="Ti"), delta(content="de."), STOP]
    chunks.insert({"first": 0, "in the middle": 1, "last": 3}[place], more)
    translation = streamed(*chunks)
    assert (translation.response["status"], translation.text) == ("completed", "Tide.")


REFUSAL = {"message": "The frobnicator declined this.", "code": 400}


@pytest.mark.parametrize(
    ("chunks", "is_refusal"),
    [
        ([{"error": REFUSAL}], True),
        ([{"error": REFUSAL["message"]}], True),
        ([delta(role="assistant", content=""), {"error": REFUSAL}], True),
        ([{"x_groq": {"error": REFUSAL}}], True),
        ([REFUSAL], True),
        ([delta(content="Ti"), {"error": REFUSAL}], False),
        ([delta(reasoning_content="Ti"), {"error": REFUSAL}], False),
        ([call(), {"error": REFUSAL}], False),
        ([delta(content="Ti"), REFUSAL], False),
        ([{"error": {"message": "Too fast.", "code": 429}}], False),
    ],
)
def test_an_error_is_a_refusal_only_before_any_output(
    chunks: list[dict[str, Any]], is_refusal: bool
) -> None:
    ending = translate(sse(*chunks)).ending
    assert ending is not None
    assert isinstance(ending.error, BackendError)
    assert (ending.error.refusal is not None) == is_refusal


def test_an_error_next_to_an_empty_choice_has_its_cause() -> None:
    error = {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}
    response = translate(sse(delta(content="Ti"), delta() | error)).response
    assert response["error"]["code"] == "insufficient_quota"


BLANK = ["\n\n", " ", "\t", "\n" * 100]


@pytest.mark.parametrize("blank", BLANK)
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("is_plain", [False, True])
def test_reasoning_of_blanks_is_no_item(blank: str, field: str, is_plain: bool) -> None:
    if is_plain:
        translation = translate_plain(plain(content="Tide.", **{field: blank}))
    else:
        translation = streamed(
            delta(**{field: blank}), delta(**{field: blank}), delta(content="Tide."), STOP
        )
    assert translation.kinds == ["message"]
    assert translation.text == "Tide."


def test_reasoning_of_blanks_before_a_call_is_no_item() -> None:
    assert streamed(delta(reasoning_content="\n"), call(), delta("tool_calls")).kinds == [
        "function_call"
    ]
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": " "}]},
        {"type": "text", "text": "Tide."},
    ]
    assert streamed(delta(content=parts), STOP).kinds == ["message"]


def test_blanks_that_begin_reasoning_stay_in_it() -> None:  # a guard
    content = streamed(
        delta(reasoning="\n"),
        delta(reasoning=" \n"),
        delta(reasoning="Sea.\n"),
        delta(content="T."),
        STOP,
    )
    assert content.reasoning == "\n \nSea.\n"


def test_a_signature_makes_an_item_of_blank_reasoning() -> None:  # a guard
    signed = [{"type": "reasoning.encrypted", "data": "bGF0ZQ=="}]
    assert streamed(delta(reasoning="\n", reasoning_details=signed), call(), STOP).kinds == [
        "reasoning",
        "function_call",
    ]


@pytest.mark.parametrize("reason", ["function_call", "tool_use", "end_turn", "eos", "odd"])
def test_an_unknown_finish_reason_completes_the_response(reason: str) -> None:
    assert streamed(delta(reason, content="Tide.")).response["status"] == "completed"


@pytest.mark.parametrize("reason", BREAKDOWNS)
def test_a_finish_reason_can_be_a_failure(reason: str) -> None:
    response = streamed(delta(reason, content="Tide.")).response
    assert response["status"] == "failed"
    assert response["error"]["message"] == BREAKDOWNS[reason]


@pytest.mark.parametrize("later", [None, "", 7, [], {}])
def test_a_finish_reason_is_not_withdrawn(later: Any) -> None:
    assert streamed(delta("length", content="Ti"), delta(later)).response["status"] == "incomplete"


def test_done_is_not_enough_without_any_output() -> None:
    assert streamed(delta(content=""), needs_reason=False).response["status"] == "failed"


def test_done_is_enough_after_a_call_without_a_reason() -> None:
    assert streamed(call(), needs_reason=False).response["status"] == "completed"


def test_a_message_that_repeats_the_deltas_is_not_read() -> None:
    whole = {"choices": [{"message": {"content": "Tide."}, "finish_reason": "stop"}]}
    assert streamed(delta(content="Tide."), whole).text == "Tide."


def test_groq_can_fail_under_its_own_name() -> None:
    response = streamed(delta(content="Ti"), {"x_groq": {"error": "over capacity"}}).response
    assert response["error"]["message"] == "The backend failed: over capacity"


@pytest.mark.parametrize("odd", [None, "none", 7, [1]])
def test_an_invalid_usage_does_not_hide_the_previous_one(odd: Any) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    assert (
        streamed({**STOP, "usage": usage}, {"choices": [], "usage": odd}).response["usage"][
            "total_tokens"
        ]
        == 5
    )


def test_nothing_stands_behind_an_item_that_was_cut() -> None:
    late = delta(reasoning_details=[{"type": "reasoning.encrypted", "data": "bGF0ZQ=="}])
    assert streamed(call('{"port"'), late, delta("length")).kinds == ["function_call"]
    assert streamed(call(), late, STOP).kinds == ["function_call", "reasoning"]


def test_a_whole_call_that_was_the_last_thing_before_the_cut_is_cut_too() -> None:
    assert [item["status"] for item in streamed(call(), delta("length")).output] == ["incomplete"]


@pytest.mark.parametrize(
    ("cap", "used", "status"),
    [(9, None, "incomplete"), (9, 9, "incomplete"), (9, 8, "completed"), (None, None, "completed")],
    ids=["nobody counted", "all were used", "some were left", "no cap"],
)
def test_a_torn_call_marked_complete_was_cut_where_the_limit_may_have_been_reached(
    cap: int | None, used: int | None, status: str
) -> None:
    usage = (
        {"usage": {"prompt_tokens": 1, "completion_tokens": used, "total_tokens": 1 + used}}
        if used
        else {}
    )
    translation = streamed(call('{"port"'), delta("tool_calls") | usage, cap=cap)
    assert [item["status"] for item in translation.output] == [status]
    assert translation.events[-1]["response"]["status"] == status


# A response may take several answers.


def test_a_second_plain_answer_of_the_same_response_is_read_like_the_first() -> None:
    translation = begin()
    for text in ("High", "Low"):
        chat = ChatStream(translation.writer)
        chat.feed(decode_chunk(json.dumps(plain(content=text)).encode()))
        ending = chat.finish()
    assert end(translation, ending).text == "HighLow"


def test_an_empty_second_answer_does_not_reuse_the_first() -> None:
    translation = begin()
    first = ChatStream(translation.writer)
    second = ChatStream(translation.writer, needs_reason=False)
    first.feed(decode_chunk(json.dumps(plain(content="High")).encode()))
    assert first.finish().error is None
    assert second.finish(done=True).error is not None


# Text.


@pytest.mark.parametrize("other", [{"refusal": "No."}, {"reasoning": "Moon."}])
def test_withheld_text_is_emitted_before_what_follows_it(other: dict[str, str]) -> None:
    translation = streamed(delta(content="a <"), delta(**other), STOP)
    assert [event["delta"] for event in translation.events if event["type"].endswith(".delta")] == [
        "a ",
        "<",
        *other.values(),
    ]


def test_withheld_text_is_emitted_before_a_call() -> None:
    translation = streamed(delta(content="a <"), call(), STOP)
    assert (translation.kinds, translation.text) == (["message", "function_call"], "a <")


def test_whitespace_before_reasoning_belongs_to_the_text_after_it() -> None:
    translation = streamed(
        delta(content="\n"), delta(reasoning="Moon."), delta(content="Tide."), STOP
    )
    assert translation.kinds == ["reasoning", "message"]
    assert translation.text == "\nTide."


def test_blanks_are_a_message_only_if_alone_and_longer_than_64() -> None:
    assert streamed(delta(content=" " * 64), STOP).kinds == []
    assert streamed(delta(content=" " * 65), STOP).kinds == ["message"]


def test_a_block_opened_by_the_template_is_reported() -> None:
    assert streamed(delta(content="Moon.\n</think>\nTide."), STOP).chat.preopened
    assert not streamed(delta(content="Tide."), STOP).chat.preopened


def test_an_answer_mistaken_for_reasoning_is_emitted() -> None:
    translation = streamed(delta(content="High "), delta(content="water."), STOP, preopened=True)
    assert (translation.reasoning, translation.text) == ("High water.", "High water.")
    assert not translation.chat.preopened


@pytest.mark.parametrize("chunks", [[delta("length")], [call(), STOP], []])
def test_reasoning_that_was_cut_or_led_to_a_call_is_no_answer(chunks: list[dict[str, Any]]) -> None:
    translation = streamed(delta(content="Moon."), *chunks, preopened=True)
    assert (translation.reasoning, translation.text) == ("Moon.", "")
    assert translation.chat.preopened is (translation.response["status"] != "completed")


@pytest.mark.parametrize(
    ("field", "reported"),
    [
        ("content", lambda translation: translation.text),
        ("refusal", lambda translation: translation.refusal),
        ("reasoning", lambda translation: translation.reasoning),
    ],
)
def test_halves_of_a_character_are_joined_in_every_field(field: str, reported: Any) -> None:
    assert (
        reported(streamed(delta(**{field: f"a{HIGH}"}), delta(**{field: LOW}), STOP)) == f"a{WAVE}"
    )
    assert reported(streamed(delta(**{field: f"a{HIGH}"}), STOP)) == "a\ufffd"
    assert reported(streamed(delta(**{field: f"a{HIGH}"}), call(), STOP)) == "a\ufffd"
    assert (
        reported(streamed(delta(**{field: f"a{HIGH}"}), delta(**{field: "b"}), STOP)) == "a\ufffdb"
    )


def test_halves_of_a_character_are_joined_in_arguments() -> None:
    translation = streamed(call('{"a":"' + HIGH), call(LOW + '"}', name=None), STOP)
    assert translation.calls == [("tide_at", '{"a":"' + WAVE + '"}')]


def test_a_half_alone_is_no_delta() -> None:
    translation = streamed(delta(content="a"), delta(content=HIGH), delta(content=LOW), STOP)
    assert [event["delta"] for event in translation.events if event["type"].endswith(".delta")] == [
        "a",
        WAVE,
    ]


@pytest.mark.parametrize(
    ("content", "text"), [([{"type": "text", "text": "Tide"}], "Tide"), (7, "7"), (True, "true")]
)
def test_content_may_be_no_string(content: Any, text: str) -> None:
    assert streamed(delta(content=content), STOP).text == text


# Log probabilities.


def with_logprobs(chunk: dict[str, Any], *tokens: str) -> dict[str, Any]:
    chunk["choices"][0]["logprobs"] = {
        "content": [{"token": token, "logprob": -1.0} for token in tokens]
    }
    return chunk


def test_unrequested_log_probabilities_are_omitted() -> None:
    assert (
        streamed(
            with_logprobs(delta("stop", content="Tide"), "Tide"), view=View(logprobs=False)
        ).tokens
        == []
    )


def test_log_probabilities_of_tokens_that_are_no_text_stay_out() -> None:
    translation = streamed(
        with_logprobs(delta(reasoning="Moon"), "Moon"),
        with_logprobs(call(), "call"),
        with_logprobs(delta(content="Tide"), "Tide"),
        STOP,
    )
    assert translation.tokens == ["Tide"]


def test_log_probabilities_of_withheld_text_are_emitted_with_it() -> None:
    translation = streamed(
        with_logprobs(delta(content="\n"), "\n"),
        with_logprobs(delta(content="<"), "<"),
        with_logprobs(delta(content="b>"), "b", ">"),
        STOP,
    )
    assert translation.tokens == ["\n", "<", "b", ">"]


def test_log_probabilities_of_a_plain_answer_are_those_of_its_text() -> None:
    answer = with_logprobs(plain(reasoning="Moon", content="Tide"), "Moon", "Ti", "de")
    assert translate_plain(answer).tokens == ["Ti", "de"]


# Annotations.


def test_what_annotates_no_text_is_left_out() -> None:
    cited = [{"type": "url_citation", "url_citation": {"url": "https://tides.example"}}]
    assert streamed(delta(annotations=cited), call(), STOP).kinds == ["function_call"]
    assert streamed({**call(), "citations": ["https://tides.example"]}, STOP).kinds == [
        "function_call"
    ]


def test_annotations_do_not_break_into_reasoning() -> None:
    cited = [{"type": "url_citation", "url_citation": {"url": "https://tides.example"}}]
    chunks = [
        delta(reasoning="Moon", annotations=cited),
        delta(reasoning="."),
        delta(content="Tide."),
        STOP,
    ]
    translation = streamed(*chunks)
    assert translation.kinds == ["reasoning", "message"]
    assert [a["url"] for a in translation.output[1]["content"][0]["annotations"]] == [
        "https://tides.example"
    ]


# Reasoning.


def test_details_without_words_open_no_second_item_after_text() -> None:
    late = delta(reasoning_details=[{"type": "reasoning.text", "signature": "c2ln"}])
    assert (
        streamed(delta(content="High"), late, delta(content=" water."), STOP).text == "High water."
    )
    assert streamed(delta(content="High"), late, delta(content=" water."), STOP).kinds == [
        "message"
    ]


def test_what_is_no_detail_opens_nothing() -> None:
    assert streamed(delta(reasoning_details=[None], thinking_blocks=["x"]), STOP).kinds == []


def test_reasoning_is_sealed_for_the_store_where_the_client_does_not_see_it() -> None:
    signed = delta(
        reasoning="Moon.",
        reasoning_details=[{"type": "reasoning.text", "text": "Moon.", "signature": "c2ln"}],
    )
    translation = streamed(signed, delta(content="Tide."), STOP)
    assert "encrypted_content" not in translation.output[0]
    assert translation.sealed[0]["reasoning"]["reasoning_details"][0]["signature"] == "c2ln"


def test_plain_reasoning_needs_no_seal() -> None:
    assert streamed(delta(reasoning="Moon."), STOP).sealed == []


# Calls.


def test_a_call_without_a_name_is_ignored() -> None:
    assert streamed(call(name=None), delta(content="Tide."), STOP).kinds == ["message"]


def test_text_goes_on_while_a_call_waits_for_its_name() -> None:
    translation = streamed(delta(content="High"), call(name=None), delta(content=" water."), STOP)
    assert (translation.kinds, translation.text) == (["message"], "High water.")


def test_a_cut_name_is_reported_as_far_as_it_was_received() -> None:
    translation = streamed(
        delta(content="Hm."), call("", name="tide"), delta("length"), names=["tide_at"]
    )
    assert [(item["type"], item["status"]) for item in translation.output] == [
        ("message", "completed"),
        ("function_call", "incomplete"),
    ]
    assert translation.calls == [("tide", "")]


def test_a_name_is_no_longer_than_clients_may_send_back() -> None:
    assert streamed(call(name="x" * 200), STOP).calls == [("x" * 128, "{}")]


def test_what_came_with_a_call_is_sealed_under_the_id_that_the_client_sees() -> None:
    signed = call(extra_content={"google": {"thought_signature": "c2ln"}}, id="x" * 70)
    translation = streamed(signed, STOP)
    (sealed,) = translation.sealed
    assert list(sealed["calls"]) == [translation.output[1]["call_id"]]


@pytest.mark.parametrize("arguments", ["", None, "  ", []])
def test_a_completed_call_always_has_arguments_that_parse(arguments: Any) -> None:
    ((_, reported),) = streamed(call(arguments), STOP).calls
    assert json.loads(reported) == {}


def test_invalid_json_arguments_are_emitted_as_received() -> None:
    assert streamed(call("{not json"), STOP).calls == [("tide_at", "{not json")]


def test_a_call_that_was_closed_ignores_what_comes_late() -> None:
    assert streamed(call(), delta(content="Tide."), call(" ", name=None), STOP).calls == [
        ("tide_at", "{}")
    ]


def test_another_id_at_the_index_of_a_closed_call_is_another_call() -> None:
    second = [call(None, name=None, id="call_b"), call("{}", name="wind_at", id="call_b")]
    assert streamed(call(), delta(content="Hm."), *second, STOP).calls == [
        ("tide_at", "{}"),
        ("wind_at", "{}"),
    ]


def test_another_id_without_a_name_at_the_index_of_a_closed_call_waits_for_its_name() -> None:
    second = [call('{"b":', name=None, id="call_b"), call("1}", name="tide_at", id="call_b")]
    calls = streamed(call(), delta(content="Hm."), *second, STOP).calls
    assert calls == [("tide_at", "{}"), ("tide_at", '{"b":1}')]


def test_the_same_name_without_an_id_at_the_index_of_a_closed_call_is_another_call() -> None:
    again = call('{"b":1}', id=None)
    assert streamed(call(id=None), delta(content="Hm."), again, STOP).calls == [
        ("tide_at", "{}"),
        ("tide_at", '{"b":1}'),
    ]


@pytest.mark.parametrize("place", [{"index": 0}, {}], ids=["with index", "without"])
def test_a_name_that_every_delta_repeats_is_one_call(place: dict[str, int]) -> None:
    parts = ['{"a"', ":", "1}"]
    deltas = [
        delta(tool_calls=[{**place, "function": {"name": "tide_at", "arguments": arguments}}])
        for arguments in parts
    ]
    assert streamed(*deltas, STOP).calls == [("tide_at", '{"a":1}')]


def test_a_call_without_index_goes_on_in_deltas_without_anything() -> None:
    first = {"function": {"name": "tide_at", "arguments": '{"a":'}}
    rest = {"function": {"arguments": "1}"}}
    assert streamed(delta(tool_calls=[first]), delta(tool_calls=[rest]), STOP).calls == [
        ("tide_at", '{"a":1}')
    ]


def test_calls_without_index_are_distinguished_by_id() -> None:
    chunks = [
        {"id": call_id, "function": {"name": name, "arguments": arguments}}
        for call_id, name, arguments in [
            ("a", "tide_at", "{"),
            ("b", "wind_at", "{"),
            ("a", None, "}"),
            ("b", None, "}"),
        ]
    ]
    translation = streamed(*(delta(tool_calls=[chunk]) for chunk in chunks), STOP)
    assert translation.calls == [("tide_at", "{}"), ("wind_at", "{}")]


@pytest.mark.parametrize(
    "odd", [None, 7, "x", [], {"function": "x"}, {"function": None}, {"function": {"name": 7}}]
)
def test_an_invalid_call_is_skipped(odd: Any) -> None:
    assert streamed(delta(content="High", tool_calls=[odd]), delta(content="."), STOP).kinds == [
        "message"
    ]
