"""What holds for whatever a backend may send."""

import copy
import gc
import json
import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import BackendError
from antiphon.protocol.chat import ChatChunk
from antiphon.testing import assert_event_stream, fold
from antiphon.translation.from_chat.content import MAX_BLANK
from antiphon.translation.from_chat.decode import decode_chunk
from antiphon.translation.writer import View
from tests.support.chance import examples
from tests.support.chunks import answers, anything, characters, chunks, last_chunks, wire, words
from tests.support.openai_types import OpenAITypes
from tests.support.replay import delta, sse
from tests.support.translate import Translation, begin, bytewise, end, translate, translate_plain

FUNCTIONS = ["tide", "tide_at", "wind_at"]
TYPES = OpenAITypes()

views = st.builds(View, summary=st.booleans(), encrypted=st.booleans(), obfuscation=st.booleans())
thorough = examples(120)


def assert_sound(translation: Translation) -> None:
    assert_event_stream(translation.events)
    assert fold(translation.events) == translation.response
    assert [error for event in translation.events for error in TYPES.errors(event)] == []


# Whatever comes.


@pytest.mark.wide
@thorough
@given(
    st.lists(chunks, max_size=8),
    st.lists(last_chunks, min_size=1, max_size=1),
    views,
    st.booleans(),
    st.booleans(),
)
def test_whatever_chunks_come_the_events_are_sound(
    stream: list[Any], last: list[Any], view: View, preopened: bool, needs_reason: bool
) -> None:
    data = wire([*stream, *last]) + b"data: [DONE]\n\n"
    assert_sound(
        translate(data, view=view, names=FUNCTIONS, preopened=preopened, needs_reason=needs_reason)
    )


@pytest.mark.wide
@thorough
@given(answers)
def test_whatever_plain_answer_comes_the_events_are_sound(answer: Any) -> None:
    assert_sound(translate_plain(answer, names=FUNCTIONS))


@thorough
@given(st.one_of(st.binary(max_size=40), anything.map(lambda value: json.dumps(value).encode())))
def test_bytes_are_a_chunk_or_the_backends_fault(data: bytes) -> None:
    try:
        assert isinstance(decode_chunk(data), ChatChunk)
    except BackendError as error:
        assert error.status == 502


@given(st.lists(st.binary(max_size=30), max_size=6), st.booleans())
def test_whatever_bytes_come_an_answer_ends(parts: list[bytes], is_json: bool) -> None:
    assert_sound(translate(parts, is_json=is_json))


@given(anything.filter(bool))
def test_whatever_error_comes_the_answer_fails(error: Any) -> None:
    translation = translate(wire([{"error": error}]))
    assert_sound(translation)
    assert translation.response["status"] == "failed"


NESTED = {
    "content": '{"choices": [{"delta": {"content": %s}}]}',
    "thinking": '{"choices": [{"delta": {"content": [{"type": "thinking", "thinking": %s}]}}]}',
    "reasoning_details": '{"choices": [{"delta": {"reasoning_details": [{"type": '
    '"reasoning.text", "x": %s}]}}]}',
    "extra_content": '{"choices": [{"delta": {"extra_content": {"google": {"thought_signature": '
    "%s}}}}]}",
    "extra_content of a call": '{"choices": [{"delta": {"tool_calls": [{"id": "a", '
    '"extra_content": %s}]}}]}',
    "arguments": '{"choices": [{"delta": {"tool_calls": [{"function": {"name": "a", "arguments": '
    '{"a": %s}}}]}}]}',
    "annotations": '{"choices": [{"delta": {"content": "x", "annotations": [%s]}}]}',
    "logprobs": '{"choices": [{"delta": {"content": "x"}, "logprobs": {"content": %s}}]}',
    "usage": '{"usage": {"prompt_tokens_details": %s}}',
    "error": '{"error": %s}',
}


@pytest.mark.parametrize("field", NESTED)
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"error":', "}")])
def test_whatever_is_nested_however_deep_the_answer_ends(
    field: str, opening: str, closing: str
) -> None:
    for depth in (10, 100, *range(300, 1000, 7), 5000):
        chunk = NESTED[field] % (opening * depth + "1" + closing * depth)
        assert translate(f"data: {chunk}\n\n".encode()).response["status"] == "failed"


# Every field of a usual stream, wrong in every way.

USUAL: list[dict[str, Any]] = [
    delta(
        role="assistant",
        content="",
        reasoning_content="Moon.",
        reasoning_details=[{"type": "reasoning.text", "text": "Moon.", "signature": "c2ln"}],
    ),
    delta(
        content="High ",
        annotations=[{"type": "url_citation", "url_citation": {"url": "https://tides.example"}}],
    ),
    delta(
        tool_calls=[
            {
                "index": 0,
                "id": "call_a",
                "type": "function",
                "function": {"name": "tide_at", "arguments": "{}"},
            }
        ]
    ),
    delta(
        content=[
            {"type": "thinking", "thinking": [{"type": "text", "text": "Sun."}]},
            {"type": "text", "text": "water."},
        ]
    ),
    delta("stop", content="!", refusal="No.", function_call={"name": "wind_at", "arguments": "{}"}),
    {
        "choices": [],
        "usage": {
            "prompt_tokens": 3,
            "completion_tokens": 2,
            "total_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 1},
        },
    },
]
USUAL[1]["choices"][0]["logprobs"] = {
    "content": [
        {"token": "High ", "logprob": -1.0, "bytes": [72], "top_logprobs": [{"token": "H"}]}
    ]
}

WRONG = [None, "", "x", 0, -1, 1.5, True, [], [None], ["x"], {}, {"x": None}, [[]]]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside a value."""
    members = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, member in members:
        yield (*path, key)
        yield from places(member, (*path, key))


def with_value(stream: list[Any], path: tuple[Any, ...], value: Any) -> list[Any]:
    changed = copy.deepcopy(stream)
    *parents, last = path
    node: Any = changed
    for key in parents:
        node = node[key]
    node[last] = value
    return changed


@pytest.mark.parametrize(
    "path",
    [path for path in places(USUAL) if len(path) > 1],
    ids=lambda path: ".".join(map(str, path)),
)
def test_a_field_may_be_wrong_in_any_way(path: tuple[Any, ...]) -> None:
    for value in WRONG:
        assert_sound(translate(sse(*with_value(USUAL, path, value)), names=FUNCTIONS))


@pytest.mark.parametrize("index", range(len(USUAL)))
def test_a_stream_without_one_of_its_chunks_is_sound(index: int) -> None:
    assert_sound(translate(sse(*USUAL[:index], *USUAL[index + 1 :]), names=FUNCTIONS))


# Nothing is lost.

steps = st.one_of(
    st.tuples(
        st.sampled_from(["content", "reasoning_content", "refusal"]),
        st.text(characters.filter(lambda c: c not in "<["), max_size=6),
    ),
    st.tuples(st.just("call"), st.integers(0, 3)),
)


@thorough
@given(st.lists(steps, max_size=12))
def test_no_word_is_lost_or_repeated(reported: list[tuple[str, Any]]) -> None:
    stream = [
        delta(**{kind: value}) if kind != "call" else call_delta(value) for kind, value in reported
    ]
    translation = translate(sse(*stream, delta("stop")))
    assert unspaced(translation.text) == unspaced(
        value for kind, value in reported if kind == "content"
    )
    reasoning = unspaced(value for kind, value in reported if kind == "reasoning_content")
    assert unspaced(translation.reasoning) == reasoning  # reasoning of blanks alone is no item
    assert translation.refusal == "".join(value for kind, value in reported if kind == "refusal")
    assert len(translation.calls) == len({value for kind, value in reported if kind == "call"})


def call_delta(index: int) -> dict[str, Any]:
    return delta(
        tool_calls=[
            {
                "index": index,
                "id": f"call_{index}",
                "function": {"name": "tide_at", "arguments": "{}"},
            }
        ]
    )


def unspaced(texts: Iterable[str]) -> str:
    """What is said, without the blanks: those around items are not kept."""
    return "".join("".join(texts).split())


@pytest.mark.wide
@pytest.mark.parametrize("seed", range(4))
def test_no_character_is_hurt_by_reads_of_one_byte(seed: int) -> None:
    dice = random.Random(seed)
    texts = [random_text(dice) for _ in range(2500)]
    data = b"".join(
        b"data: " + json.dumps(delta(content=text), ensure_ascii=False).encode() + b"\n\n"
        for text in texts
    )
    translation = translate([*bytewise(data), sse(delta("stop"))])
    assert translation.text == "".join(texts)


def random_text(dice: random.Random) -> str:
    """Up to eight characters of any length in UTF-8, none of them a half, a replacement, or the
    start of a tag.
    """
    planes = [(0x20, 0x3B), (0xA0, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFC), (0x10000, 0x10FFFF)]
    return "".join(chr(dice.randint(*dice.choice(planes))) for _ in range(dice.randrange(1, 9)))


# Streamed or plain.

objects = st.dictionaries(
    words, st.one_of(words, st.integers(), st.lists(words, max_size=2)), max_size=3
)
plain_calls = st.lists(st.tuples(st.sampled_from(FUNCTIONS), objects), max_size=3)
thoughts = st.one_of(st.just(""), words.map(lambda word: f"<think>{word.replace('<', '')}</think>"))


@thorough
@given(thoughts, words, words, plain_calls, st.randoms(use_true_random=False))
def test_an_answer_in_pieces_gives_what_it_gives_at_once(
    thought: str, text: str, reasoning: str, called: list[tuple[str, Any]], dice: random.Random
) -> None:
    content = thought + text.replace("<", "")
    tool_calls = [
        {
            "id": f"call_{index}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for index, (name, arguments) in enumerate(called)
    ]
    message = {"reasoning": reasoning, "content": content, "tool_calls": tool_calls}
    plain = translate_plain(
        {"choices": [{"message": message, "finish_reason": "stop"}]}, names=FUNCTIONS
    )
    stream = [delta(reasoning=piece) for piece in pieces(reasoning, dice)]
    stream += [delta(content=piece) for piece in pieces(content, dice)]
    for index, call in enumerate(tool_calls):
        name = call["function"]["name"]
        arguments = call["function"]["arguments"]
        stream.append(
            delta(tool_calls=[{"index": index, "id": call["id"], "function": {"name": name}}])
        )
        stream += [
            delta(tool_calls=[{"index": index, "function": {"arguments": piece}}])
            for piece in pieces(arguments, dice)
        ]
    streamed = translate(sse(*stream, delta("stop")), names=FUNCTIONS)
    assert without_ids(streamed.output) == without_ids(plain.output)


def pieces(text: str, dice: random.Random) -> list[str]:
    cuts = sorted(dice.randrange(len(text) + 1) for _ in range(dice.randrange(4)))
    return [text[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def without_ids(output: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in item.items() if name != "id"} for item in output]


# Work per chunk is constant: nothing grows but lists, and those are joined once.

LONG = 20_000
ENDLESS: dict[str, dict[str, Any]] = {
    "text": delta(content="tide "),
    "blanks": delta(content="\n"),
    "refusal": delta(refusal="no "),
    "reasoning": delta(reasoning="moon "),
    "details": delta(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "moon "}]),
    "arguments": delta(
        tool_calls=[
            {"index": 0, "id": "call_a", "function": {"name": "tide_at", "arguments": '"tide"'}}
        ]
    ),
    "arguments without a name": delta(
        tool_calls=[{"index": 0, "function": {"arguments": '"tide"'}}]
    ),
    "arguments of a call that repeats its name": delta(
        tool_calls=[{"function": {"name": "tide_at", "arguments": '"tide"'}}]
    ),
    "tokens": {
        "choices": [
            {"delta": {"reasoning": "a"}, "logprobs": {"content": [{"token": "a", "logprob": 0.0}]}}
        ]
    },
}


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.parametrize("summary", [False, True])
def test_a_stream_of_20000_chunks_holds_no_text_but_its_pieces(name: str, summary: bool) -> None:
    translation = begin(View(summary=summary))
    chunk = decode_chunk(json.dumps(ENDLESS[name]).encode())
    count = 0
    for _ in range(LONG):
        translation.chat.feed(chunk)
        count += len(translation.writer.take())
    assert count <= LONG + 10
    assert longest_text(translation.chat) <= MAX_BLANK + 1
    assert (
        sum(isinstance(value, dict) and "token" in value for value in retained_by(translation.chat))
        <= 1
    )


@pytest.mark.wide
def test_a_stream_of_20000_items_opens_and_closes_each_once() -> None:
    translation = begin()
    stuck = delta(
        tool_calls=[
            {"index": 0, "id": "call_a", "function": {"name": "tide_at", "arguments": '{"long": "'}}
        ]
    )
    turns = [
        decode_chunk(json.dumps(delta(**{kind: "x"})).encode()) for kind in ("content", "reasoning")
    ]
    translation.chat.feed(decode_chunk(json.dumps(stuck).encode()))
    for _ in range(LONG // 2):
        for chunk in turns:
            translation.chat.feed(chunk)
        translation.writer.take()
    end(translation, translation.chat.finish(done=True))
    assert len(translation.output) == LONG + 1


def longest_text(root: Any) -> int:
    """The length of the longest string that an object holds, however deep."""
    return max(len(value) for value in retained_by(root) if isinstance(value, str))


def retained_by(root: Any) -> Iterator[Any]:
    """What an object holds, however deep; code and classes are left out."""
    seen = set()
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, type) or callable(value):
            continue
        seen.add(id(value))
        yield value
        waiting += gc.get_referents(value)
