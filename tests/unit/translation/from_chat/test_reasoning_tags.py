"""Reasoning that a model marks in its text, whatever its tags."""

from typing import Any

import msgspec

from antiphon.protocol.tool_bindings import Offer
from antiphon.testing import assert_event_stream
from antiphon.translation.from_chat.reasoning_tags import ANSWERS, TAGS, THINK
from antiphon.translation.to_chat_completions.quotations import MUCH, mentions
from tests.support.cases import each
from tests.support.replay import delta, sse, text
from tests.support.translate import Translation, translate, translate_plain

ANALYSIS = "<|channel|>analysis<|message|>Moon.<|end|>"
FINAL = "<|start|>assistant<|channel|>final<|message|>"
PREAMBLE = "<|start|>assistant<|channel|>commentary<|message|>"
TIDE = {"tide": Offer("tide", name="tide")}

MARKED = {
    **{f"{tag}": (f"{tag}Moon.{close}Tide.", "Moon.") for tag, close in TAGS.items()},
    **{
        f"{tag} with blanks": (f"\n{tag}\nMoon.{close}\n\nTide.", "Moon.")
        for tag, close in TAGS.items()
    },
    "harmony": (f"{ANALYSIS}{FINAL}Tide.", "Moon."),
    "harmony, with the end of the answer": (f"{ANALYSIS}{FINAL}Tide.<|return|>", "Moon."),
    "harmony, two analyses": (f"{ANALYSIS}<|start|>assistant{ANALYSIS}{FINAL}Tide.", "Moon.Moon."),
    "harmony, in JSON": (
        f"{ANALYSIS}<|start|>assistant<|channel|>final <|constrain|>json<|message|>Tide.",
        "Moon.",
    ),
    "harmony, a preamble": (
        f"{ANALYSIS}<|start|>assistant<|channel|>commentary<|message|>Ti<|end|>{FINAL}de.",
        "Moon.",
    ),
    "harmony, a channel without a start": (f"{ANALYSIS}<|channel|>final<|message|>Tide.", "Moon."),
    **{f"{opening} alone": (f"{opening}Tide.<|end|>", "") for opening in ANSWERS},
}


def streamed(*parts: str, **options: Any) -> Translation:
    translation = translate(text(*parts), **options)
    assert_event_stream(translation.events)
    return translation


def assert_split(translation: Translation, reasoning: str) -> None:
    assert translation.text == "Tide."
    assert translation.reasoning.strip() == reasoning


@each("name", MARKED)
@each("has_tools", [False, True])
def test_marked_reasoning_is_reasoning_in_any_split(name: str, has_tools: bool) -> None:
    stated, reasoning = MARKED[name]
    options: dict[str, Any] = {"offers": TIDE, "text_calls": "any"} if has_tools else {}
    answer = {"choices": [{"message": {"content": stated}, "finish_reason": "stop"}]}
    assert_split(translate_plain(answer, **options), reasoning)
    for size in range(1, 12):
        assert_split(
            streamed(*(stated[at : at + size] for at in range(0, len(stated), size)), **options),
            reasoning,
        )


XML = [tag for tag, close in TAGS.items() if close.startswith("</")]
BLOCKS = [tag for tag in TAGS if tag not in THINK]


@each("tag", XML)
@each("size", [1, 3, 100])
def test_the_usual_closing_tag_closes_every_tag_in_brackets(tag: str, size: int) -> None:
    text = f"{tag}Moon.</think>\n\nTide."
    assert_split(streamed(*(text[at : at + size] for at in range(0, len(text), size))), "Moon.")


@each("tag", BLOCKS)
@each("size", [1, 3, 100])
@each("has_tools", [False, True])
def test_a_complete_answer_that_never_closes_a_tag_is_text(
    tag: str, size: int, has_tools: bool
) -> None:
    options: dict[str, Any] = {"offers": TIDE, "text_calls": "any"} if has_tools else {}
    text = f"{tag} \nis the tag that it writes."
    assert (
        streamed(*(text[at : at + size] for at in range(0, len(text), size)), **options).text
        == text
    )
    answer = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    assert translate_plain(answer, **options).text == text


@each("tag", BLOCKS)
def test_an_answer_that_is_cut_inside_a_tag_is_reasoning(tag: str) -> None:  # a guard
    translation = translate(sse(delta(content=f"{tag}Moon"), delta("length")))
    assert (translation.reasoning, translation.text) == ("Moon", "")


@each("tag", BLOCKS)
def test_a_block_that_a_call_ends_stays_reasoning(tag: str) -> None:  # a guard
    call = {"index": 0, "id": "c1", "function": {"name": "tide", "arguments": "{}"}}
    translation = translate(
        sse(delta(content=f"{tag}Moon"), delta(tool_calls=[call]), delta("stop")), offers=TIDE
    )
    assert (translation.reasoning, translation.text) == ("Moon", "")


@each("blanks", ["", "\n", " \n\n"])
@each("has_tools", [False, True])
@each("size", [1, 4, 200])
def test_texts_of_the_harmony_format_are_messages_of_their_own(
    blanks: str, has_tools: bool, size: int
) -> None:
    options: dict[str, Any] = {"offers": TIDE, "text_calls": "any"} if has_tools else {}
    text = f"{ANALYSIS}{blanks}{PREAMBLE}I look.<|end|>{blanks}{FINAL}Tide.<|return|>"
    translation = streamed(*(text[at : at + size] for at in range(0, len(text), size)), **options)
    messages = [item for item in translation.response["output"] if item["type"] == "message"]
    assert [message["content"][0]["text"] for message in messages] == ["I look.", "Tide."]
    assert translation.reasoning.strip() == "Moon."


NOT_REASONING = [
    "The tag <reasoning>Moon.</reasoning> is one.",
    "```xml\n<thinking>Moon.</thinking>\n```",
    "`<thinking>Moon.</thinking>`",
    "> <reasoning>Moon.</reasoning>",
    '"<seed:think>Moon.</seed:think>"',
    "<reason>Moon.</reason>",
    "<thinkin",
    "<|channel|>odd<|message|>Moon.",
    "<html><thinking>Moon.</thinking></html>",
    "◁",
]


@each("stated", NOT_REASONING)
def test_tags_elsewhere_are_text(stated: str) -> None:  # a guard
    for parts in ([stated], list(stated)):
        translation = streamed(*parts)
        assert (translation.text, translation.reasoning) == (stated, "")


@each("tag", [tag for tag in TAGS if tag not in THINK])
def test_a_tag_that_the_request_mentions_is_text(tag: str) -> None:
    text = f"{tag}Moon.{TAGS[tag]}Tide."
    for parts in ([text], list(text)):
        translation = streamed(*parts, is_quoted=lambda found: found == tag)
        assert (translation.text, translation.reasoning) == (text, "")


@each("tag", THINK)
def test_the_common_tags_are_reasoning_even_if_the_request_mentions_them(
    tag: str,
) -> None:  # a guard
    assert_split(streamed(f"{tag}Moon.{TAGS[tag]}Tide.", is_quoted=lambda _: True), "Moon.")


CALL = delta(
    tool_calls=[{"index": 0, "id": "call_a", "function": {"name": "tide", "arguments": "{}"}}]
)


@each("tag", [*TAGS])
@each("before", ["", "I look.", "<think>First.</think>", "<think>First.</think>I look."])
@each("size", [1, 5, 100])
def test_reasoning_can_follow_a_call(tag: str, before: str, size: int) -> None:
    text = f"{tag}Moon.{TAGS[tag]}Tide."
    parts = [delta(content=text[at : at + size]) for at in range(0, len(text), size)]
    translation = translate(sse(delta(content=before), CALL, *parts, delta("stop")), offers=TIDE)
    assert_event_stream(translation.events)
    assert translation.kinds[-2:] == ["reasoning", "message"]
    assert translation.output[-1]["content"][0]["text"] == "Tide."
    assert translation.reasoning.endswith("Moon.")


def test_text_after_a_call_stays_text() -> None:  # a guard
    chunks = [
        delta(content="<think>a</think>I look."),
        CALL,
        delta(content="So\n</think>it is."),
        delta("stop"),
    ]
    assert (
        translate(sse(*chunks), offers=TIDE).output[-1]["content"][0]["text"]
        == "So\n</think>it is."
    )


def test_a_backend_with_a_field_for_reasoning_has_no_tags_in_its_text() -> None:  # a guard
    chunks = [
        delta(reasoning_content="Moon."),
        CALL,
        delta(content="<thinking>b</thinking>"),
        delta("stop"),
    ]
    assert translate(sse(*chunks), offers=TIDE).text == "<thinking>b</thinking>"


@each(
    ("message", "expected"),
    [
        ({"role": "user", "content": "Use <thinking>."}, True),
        ({"role": "system", "content": "Use <thinking>."}, True),
        ({"role": "tool", "content": "<thinking>"}, True),
        ({"role": "user", "content": [{"type": "text", "text": "a ◁think▷ <thinking>"}]}, True),
        ({"role": "assistant", "content": "<thinking>"}, False),
        ({"role": "user", "content": None, "name": "<thinking>"}, False),
    ],
)
def test_a_request_mentions_a_tag_in_the_texts_that_the_model_did_not_write(
    message: Any, expected: bool
) -> None:
    assert mentions(msgspec.json.encode({"messages": [message]}), "<thinking>") is expected


def test_a_large_request_is_not_decoded_for_it_and_its_tags_stay_text() -> None:
    messages = [
        {"role": "assistant", "content": "<thinking>"},
        {"role": "user", "content": "x" * MUCH},
    ]
    body = msgspec.json.encode({"messages": messages})
    assert mentions(body, "<thinking>")
    assert not mentions(body, "<reasoning>")
