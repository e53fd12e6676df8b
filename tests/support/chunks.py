"""Chunks as Hypothesis makes them up: as backends send them, with a field wrong now and then."""

import json
from typing import Any

from hypothesis import strategies as st

characters = st.characters(exclude_categories=["Cs"])
words = st.text(characters, max_size=12)
halves = st.sampled_from(["\ud83c", "\udf0a", "\ud83c\udf0a", "\udf0a\ud83c"])
"""Of surrogate pairs: the first, the second, both, and both the wrong way round."""
odd_texts = st.one_of(
    words,
    st.sampled_from(
        [
            "<think>",
            "</think>",
            "\n</think>\n",
            "<thi",
            "nk>",
            "[THINK]",
            "[/THINK]",
            "<",
            "\n",
            "  ",
        ]
    ),
    st.lists(st.one_of(halves, words), max_size=3).map("".join),
)
anything: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), odd_texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(odd_texts, inner, max_size=3)
    ),
    max_leaves=5,
)


@st.composite
def maybe(draw: st.DrawFn, usual: st.SearchStrategy[Any]) -> Any:
    """What a field usually holds; sometimes null, sometimes anything at all."""
    return draw(draw(st.sampled_from([usual] * 14 + [st.none(), anything])))


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """An object with these fields, each of which may be absent."""
    return st.fixed_dictionaries(
        {}, optional={name: maybe(value) for name, value in fields.items()}
    )


def most(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """An object with all of these fields."""
    return st.fixed_dictionaries({name: maybe(value) for name, value in fields.items()})


def few(value: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """One of them, or two."""
    return st.lists(value, min_size=1, max_size=2)


names = st.sampled_from(["tide", "tide_at", "ti", "de_at", "wind_at", "unknown"])
arguments = st.one_of(
    odd_texts, st.sampled_from(['{"a":', "1}", '{"a":1}', "{", "}", "{}"]), st.just({"a": "\ud83c"})
)
signatures = st.just({"google": {"thought_signature": "c2ln\ud83c"}})
ids = st.sampled_from(["", "call_a", "call_b", "x" * 70])
functions = st.one_of(
    most(name=names, arguments=arguments), most(arguments=arguments), most(name=names)
)
calls = st.one_of(
    most(index=st.integers(0, 2), id=ids, function=functions),
    most(index=st.integers(0, 2), function=functions),
    most(id=ids, function=functions),
    most(function=functions),
    most(index=st.integers(0, 2), id=ids, function=functions, extra_content=signatures),
)
details = st.one_of(
    some(type=st.just("reasoning.text"), index=st.integers(0, 1), text=odd_texts, signature=words),
    most(type=st.just("reasoning.encrypted"), index=st.integers(0, 1), data=odd_texts),
    some(type=st.just("thinking"), thinking=odd_texts, signature=words),
)
parts = st.one_of(
    most(type=st.just("text"), text=odd_texts),
    most(type=st.just("thinking"), thinking=few(most(type=st.just("text"), text=odd_texts))),
)
tokens = most(token=odd_texts, logprob=st.floats(), bytes=st.lists(st.integers(0, 255), max_size=2))
logprobs = most(content=few(most(token=odd_texts, logprob=st.floats(), top_logprobs=few(tokens))))
places = st.integers(0, 9)
annotations = st.one_of(
    most(
        type=st.just("url_citation"),
        url_citation=most(url=odd_texts, title=words, start_index=places),
    ),
    most(
        type=st.sampled_from(["file_citation", "file_path", "container_file_citation", "file"]),
        file_id=words,
    ),
)
deltas = st.one_of(
    most(content=odd_texts),
    most(content=odd_texts),
    most(content=few(parts)),
    most(content=words, annotations=few(annotations)),
    most(refusal=odd_texts),
    most(reasoning_content=odd_texts),
    most(reasoning=odd_texts, reasoning_details=few(details)),
    most(reasoning_details=few(details)),
    most(thinking_blocks=few(details)),
    most(content=words, extra_content=signatures),
    most(tool_calls=few(calls)),
    most(tool_calls=few(calls)),
    most(function_call=functions),
)
reasons = st.sampled_from(["", "stop", "length", "tool_calls", "content_filter", "error", "odd"])
usages = some(
    prompt_tokens=st.integers(-5, 50),
    completion_tokens=st.integers(-5, 50),
    total_tokens=st.integers(-5, 120),
    prompt_tokens_details=some(cached_tokens=st.integers(-5, 60), audio_tokens=st.integers(0, 60)),
    completion_tokens_details=some(reasoning_tokens=st.integers(-5, 60)),
)
choices = st.one_of(
    most(index=st.just(0), delta=deltas),
    most(delta=deltas, logprobs=logprobs),
    most(delta=deltas, message=deltas),
)
chunks = st.one_of(
    most(choices=few(choices)),
    most(choices=few(choices)),
    most(choices=few(choices), citations=few(words)),
    most(choices=few(choices), usage=usages),
)
"""One chunk, as a backend might send it."""

last_chunks = most(choices=few(most(delta=st.just({}), finish_reason=reasons)), usage=usages)
"""A chunk that says why the answer ended."""

answers = st.fixed_dictionaries(
    {
        "choices": few(st.fixed_dictionaries({"message": deltas, "finish_reason": maybe(reasons)})),
        "usage": maybe(usages),
    }
)
"""A plain answer."""


def wire(stream: list[Any]) -> bytes:
    """The chunks as a stream of events, halves of surrogate pairs escaped as JSON allows."""
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in stream)
