"""Calls that stand in the text of an answer are calls of the response like any others, streamed or
plain.
"""

import json
from typing import Any

import pytest

from antiphon.protocol.events import ResponseTextDeltaEvent
from antiphon.protocol.tool_bindings import Offer
from antiphon.translation.wire import AnswerReader
from antiphon.translation.writer import View
from tests.support.cases import each
from tests.support.replay import completion, delta, sse, text
from tests.support.translate import Translation, begin, translate, translate_plain
from tests.unit.translation.from_chat.text_calls.samples import CALL, OFFERS, SAMPLES, Sample

READ = '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>'
ON: dict[str, Any] = {"offers": OFFERS, "text_calls": "any"}


def plain(content: str, **message: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(completion(content, **message))
    return answer


ANALYSIS = "<|channel|>analysis<|message|>I read it.<|end|>"
"""A text that is reasoning, so that the reader of calls does not receive it."""


def reported(translation: Translation) -> list[Any]:
    """Items in order: texts, and calls with their arguments as data."""
    return [
        (item["name"], json.loads(item["arguments"]))
        if item["type"] == "function_call"
        else "".join(part["text"] for part in item["content"])
        for item in translation.output
    ]


def deltas(translation: Translation) -> list[str]:
    """The text that clients were sent since the last time."""
    return [
        event.delta
        for event in translation.writer.take()
        if isinstance(event, ResponseTextDeltaEvent)
    ]


@each("sample", SAMPLES, ids=[f"{each.format}: {each.about}" for each in SAMPLES])
def test_a_plain_answer_has_the_items_of_a_streamed_one(sample: Sample) -> None:
    whole = translate_plain(plain(sample.text), **ON)
    streamed = translate(text(*sample.text), **ON)
    found = [each for each in sample.found if not (isinstance(each, str) and each.isspace())]
    if found[0] == ANALYSIS:
        found[0] = "I read it."
    assert reported(whole) == reported(streamed) == found
    assert {translation.response["status"] for translation in (whole, streamed)} == {"completed"}


def test_a_call_has_an_id_and_the_events_of_any_call() -> None:
    translation = translate(text("I look.\n", READ, "\n", CALL), **ON)
    first, second = (item for item in translation.output if item["type"] == "function_call")
    assert first["call_id"].startswith("call_") and first["call_id"] != second["call_id"]
    kinds = [
        event["type"].removeprefix("response.")
        for event in translation.events
        if event.get("output_index") == 1
    ]
    assert kinds == [
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
    ]
    assert first["status"] == "completed"


def test_text_before_a_call_is_emitted_before_the_call_ends() -> None:
    translation = begin(**ON)
    reader = AnswerReader(translation.chat)
    reader.feed(sse(delta(content="I look <"), delta(content="<b>now</b>.\n<tool"), done=False))
    assert deltas(translation) == ["I look ", "<<b>now</b>.\n"]


def test_only_the_beginning_of_a_call_is_withheld() -> None:
    translation = begin(**ON)
    reader = AnswerReader(translation.chat)
    texts: list[str] = []
    for part in (
        "See:\n",
        "<",
        "tool_",
        "cats",
        " and ",
        "<tool_call>",
        "\n",
        "{",
        '"name": "rm',
        '"',
    ):
        reader.feed(sse(delta(content=part), done=False))
        texts.append("".join(deltas(translation)))
    assert texts == [
        "See:\n",
        "",
        "",
        "<tool_cats",
        " and ",
        "<tool_call>",
        "\n",
        "{",
        '"name": "rm',
        '"',
    ]


def test_a_call_that_is_not_allowed_is_text() -> None:
    assert reported(translate(text(READ, "\n", CALL), **ON, allowed={"list_files"})) == [
        f"{READ}\n",
        ("list_files", {}),
    ]
    assert reported(translate(text(READ), **ON, allowed=frozenset())) == [READ]


def test_without_tools_or_where_the_dialect_has_none_all_is_text() -> None:
    assert reported(translate(text(READ), text_calls="any")) == [READ]
    assert reported(translate(text(READ), offers=OFFERS)) == [READ]


def test_only_the_first_of_parallel_calls_runs_if_the_client_wants_one() -> None:
    assert reported(translate(text(READ, "\n", CALL, "\nText."), **ON, only_one=True)) == [
        ("read_file", {"path": "a.py"})
    ]


@pytest.mark.parametrize("finish_reason", ["length", "content_filter"])
def test_what_is_unfinished_in_an_answer_that_was_cut_is_text(finish_reason: str) -> None:
    unfinished = '<tool_call>\n{"name": "list_files", "arguments": {}}'
    translation = translate(sse(delta(content=unfinished), delta(finish_reason)), **ON)
    assert reported(translation) == [unfinished]
    assert translation.response["status"] == "incomplete"


def test_a_broken_off_answer_fails_with_its_output() -> None:
    translation = translate(sse(delta(content="I look.\n<tool_call>"), done=False), **ON)
    assert translation.response["status"] == "failed"
    assert reported(translation) == ["I look.\n<tool_call>"]


# Beside what the backend itself reports.


def native(name: str = "list_files", arguments: str = "{}") -> dict[str, Any]:
    return {
        "tool_calls": [
            {"index": 0, "id": "call_n", "function": {"name": name, "arguments": arguments}}
        ]
    }


def test_calls_that_a_backend_reports_are_not_parsed_from_its_text_again() -> None:
    assert reported(translate_plain(plain(f"So:\n{CALL}", **native()), **ON)) == [
        f"So:\n{CALL}",
        ("list_files", {}),
    ]


def test_a_call_in_the_text_before_a_reported_one_counts() -> None:
    translation = translate(
        sse(delta(content=f"{READ}\n"), delta(content="So. "), delta(**native()), delta("stop")),
        **ON,
    )
    assert reported(translation) == [("read_file", {"path": "a.py"}), "\nSo. ", ("list_files", {})]


def test_withheld_text_is_emitted_before_a_reported_call() -> None:
    translation = translate(
        sse(
            delta(content="So <tool_call>\n{"),
            delta(**native()),
            delta(content=CALL),
            delta("stop"),
        ),
        **ON,
    )
    assert reported(translation) == ["So <tool_call>\n{", ("list_files", {}), CALL]


# Tools of other kinds.


def test_a_custom_tool_has_its_input_as_text() -> None:
    offers = {
        "apply_patch": Offer(
            "apply_patch",
            "custom",
            "apply_patch",
            parameters={"properties": {"input": {"type": "string"}}},
        )
    }
    patch = "*** Begin Patch\n*** Update File: a.py\n-x\n+y\n*** End Patch\n"
    stated = (
        f"<tool_call>\n<function=apply_patch>\n<parameter=input>\n{patch}\n</parameter>\n"
        "</function>\n</tool_call>"
    )
    (item,) = translate(text(*stated), offers=offers, text_calls="any").output
    assert (item["type"], item["input"]) == ("custom_tool_call", patch)


def test_a_tool_of_a_namespace_has_both_its_names() -> None:
    offers = {"crm__find": Offer("crm__find", name="find", namespace="crm")}
    (item,) = translate(
        text('{"name": "crm__find", "arguments": {}}'), offers=offers, text_calls="any"
    ).output
    assert (item["name"], item["namespace"]) == ("find", "crm")


def test_a_server_tool_runs_up_to_its_limit() -> None:
    offers = {"s__look": Offer("s__look", "mcp", "look", namespace="s", is_hosted=True)}
    stated = '<tool_call>{"name": "s__look", "arguments": {}}</tool_call>\n'
    translation = begin(offers=offers, text_calls="any", hosted_left=1)
    reader = AnswerReader(translation.chat)
    reader.feed(text(stated, stated))
    ending = reader.finish()
    assert len(ending.retained) == 1 and ending.are_used_up


# Reasoning.

THOUGHT = "I need the list."


@pytest.mark.parametrize("tail", ["", "\n", "\n\n"])
def test_a_call_at_the_end_of_reasoning_that_was_not_closed_is_one(tail: str) -> None:
    translation = translate(text(*f"<think>{THOUGHT}\n{CALL}{tail}"), **ON)
    assert [item["type"] for item in translation.output] == ["reasoning", "function_call"]
    assert translation.reasoning.strip() == THOUGHT


def test_a_call_at_the_end_of_a_field_for_reasoning_is_one() -> None:
    parts = (
        delta(reasoning_content=part) for part in (THOUGHT, "\n<tool", CALL.removeprefix("<tool"))
    )
    translation = translate(sse(*parts, delta(content="\n"), delta("stop")), **ON)
    assert [item["type"] for item in translation.output] == ["reasoning", "function_call"]


@pytest.mark.parametrize(
    "stated",
    [
        f"<think>{THOUGHT}\n{CALL}</think>Done.",
        f"<think>{THOUGHT}\n{CALL}\nNo, not that.",
        f"<think>{THOUGHT}\n{CALL}\nNo.</think>{READ}",
        f"<think>{CALL} is what I write.\n",
    ],
)
def test_a_call_within_reasoning_is_ignored(stated: str) -> None:
    translation = translate(text(*stated), **ON)
    assert "list_files" not in [name for name, _ in translation.calls]
    assert CALL in translation.reasoning


def test_a_call_in_reasoning_before_a_reported_call_is_ignored() -> None:
    translation = translate(
        sse(
            delta(reasoning_content=f"{THOUGHT}\n{CALL}"),
            delta(**native("read_file")),
            delta("stop"),
        ),
        **ON,
    )
    assert [name for name, _ in translation.calls] == ["read_file"]
    assert translation.reasoning == f"{THOUGHT}\n{CALL}"


def test_a_call_behind_closed_reasoning_is_one() -> None:
    translation = translate(text(*f"<think>{THOUGHT}</think>\n\n{READ}"), **ON)
    assert [item["type"] for item in translation.output] == ["reasoning", "function_call"]


def test_an_answer_taken_for_reasoning_is_searched_like_any_answer() -> None:
    stated = '{"name": "list_files", "arguments": {}}'
    translation = translate(text(*stated), **ON, preopened=True)
    assert [item["type"] for item in translation.output] == ["reasoning", "function_call"]


# Beside other features.


def test_log_probabilities_are_those_of_the_text() -> None:
    def chunk(token: str) -> dict[str, Any]:
        created = delta(content=token)
        created["choices"][0]["logprobs"] = {
            "content": [{"token": token, "logprob": -0.5, "top_logprobs": []}]
        }
        return created

    parts = [
        chunk(part)
        for part in ("I ", "look.", "\n", "<tool_call>", CALL.removeprefix("<tool_call>"))
    ]
    translation = translate(sse(*parts, delta("stop")), view=View(), **ON)
    assert translation.tokens == ["I ", "look.", "\n"]
    assert reported(translation)[1:] == [("list_files", {})]


def test_a_json_answer_requested_by_the_client_is_not_a_call() -> None:
    stated = '{"name": "list_files", "arguments": {}}'
    assert reported(translate(text(stated), offers=OFFERS, text_calls="marked")) == [stated]
    assert reported(translate(text(CALL), offers=OFFERS, text_calls="marked")) == [
        ("list_files", {})
    ]
