"""Whatever a backend sends among calls in its text, the events of the response are sound and lose
nothing.
"""

from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from antiphon.protocol.tool_bindings import TextCalls
from antiphon.translation.writer import View
from tests.support.chance import examples
from tests.support.chunks import chunks, last_chunks, wire
from tests.support.replay import completion, delta, text
from tests.support.translate import at, translate
from tests.unit.translation.from_chat.test_properties import assert_sound
from tests.unit.translation.from_chat.text_calls.samples import CALL, OFFERS, SAMPLES
from tests.unit.translation.from_chat.text_calls.test_properties import SHARDS, texts

shards = st.one_of(
    st.sampled_from(SHARDS), st.sampled_from([each.text for each in SAMPLES]), st.just(CALL)
)
stated = st.one_of(
    shards.map(lambda words: delta(content=words)),
    shards.map(lambda words: delta(content=words)),
    shards.map(lambda words: delta(reasoning_content=words)),
    st.sampled_from(
        [
            delta(content="<think>"),
            delta(content="</think>"),
            delta(content="\n\n"),
            delta(refusal="No."),
        ]
    ),
    chunks,
)
ways: st.SearchStrategy[TextCalls] = st.sampled_from(get_args(TextCalls))
views = st.builds(View, summary=st.booleans(), encrypted=st.booleans(), obfuscation=st.booleans())


@pytest.mark.wide
@examples(200)
@given(
    st.lists(stated, max_size=10),
    st.lists(last_chunks, min_size=1, max_size=1),
    ways,
    views,
    st.booleans(),
    st.booleans(),
)
def test_whatever_comes_among_calls_the_events_are_sound(
    stream: list[Any], last: list[Any], way: TextCalls, view: View, preopened: bool, only_one: bool
) -> None:
    data = wire([*stream, *last]) + b"data: [DONE]\n\n"
    assert_sound(
        translate(
            data, view=view, offers=OFFERS, text_calls=way, preopened=preopened, only_one=only_one
        )
    )


@pytest.mark.wide
@examples(200)
@given(texts, ways)
@example(f"\x0c<think>I read it.</think>{CALL}", "marked")
def test_a_plain_answer_has_what_a_streamed_one_has(words: str, way: TextCalls) -> None:
    plain = translate(completion(words), is_json=True, offers=OFFERS, text_calls=way)
    streamed = translate(at(*range(0, 4000, 97))(text(*words)), offers=OFFERS, text_calls=way)
    assert_sound(plain)
    assert (plain.text, plain.calls, plain.reasoning) == (
        streamed.text,
        streamed.calls,
        streamed.reasoning,
    )


@pytest.mark.parametrize(
    "blank", ["    ", "\t", "\x0b", "\x0c", "\x1c", "\x85", "\xa0", "\u2028"], ids=ascii
)
def test_whitespace_before_reasoning_does_not_indent_the_call_after_it(blank: str) -> None:
    words = f"{blank}<think>I read it.</think>{CALL}"
    plain = translate(completion(words), is_json=True, offers=OFFERS, text_calls="marked")
    for cuts in ((), (1,), (5, 97)):
        streamed = translate(at(*cuts)(text(*words)), offers=OFFERS, text_calls="marked")
        assert streamed.calls == plain.calls
        assert len(streamed.calls) == 1
