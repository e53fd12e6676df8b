import json
from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import BackendError
from antiphon.translation.from_chat.decode import decode_chunk, decode_text, decode_texts
from tests.support.chance import examples

HALF = "\ud83c"


def test_a_usual_chunk_has_its_fields() -> None:
    chunk = decode_chunk(
        b'{"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":"Tide"},'
        b'"finish_reason":"stop"}],"usage":{"total_tokens":1}}'
    )
    assert chunk.choices is not None
    assert chunk.choices[0].delta is not None
    assert chunk.choices[0].delta.content == "Tide"
    assert chunk.choices[0].finish_reason == "stop"
    assert chunk.usage == {"total_tokens": 1}


@pytest.mark.parametrize(
    "wire",
    [
        b'{"choices":{"delta":{"content":"Tide"}}}',
        b'{"choices":[null,{"delta":{"content":"Tide"}},"x"]}',
        b'{"choices":[{"delta":{"content":"Tide"},"message":"x"}]}',
        b'{"choices":[{"delta":{"content":"Tide","tool_calls":{}}}]}',
        b'{"choices":[{"delta":{"content":"Tide","role":NaN}}]}',
        b'{"choices":[{"delta":{"content":"Tide"}}],"id":"\\ud83c"}',
    ],
)
def test_a_chunk_of_another_shape_is_read_by_hand(wire: bytes) -> None:
    (choice,) = decode_chunk(wire).choices or ()
    assert choice.delta is not None
    assert choice.delta.content == "Tide"


def test_text_that_grows_keeps_its_halves_and_all_else_is_repaired() -> None:
    call = {
        "id": HALF,
        "function": {"name": HALF, "arguments": HALF},
        "extra_content": {HALF: HALF},
    }
    delta = {
        "content": HALF,
        "refusal": HALF,
        "reasoning": HALF,
        "tool_calls": [call],
        "annotations": [HALF],
    }
    chunk = decode_chunk(json.dumps({"choices": [{"delta": delta}], "error": HALF}).encode())
    (choice,) = chunk.choices or ()
    read = choice.delta
    assert read is not None
    assert (read.content, read.refusal, read.reasoning) == (HALF, HALF, HALF)
    assert read.tool_calls == [
        {
            "id": "\ufffd",
            "function": {"name": "\ufffd", "arguments": HALF},
            "extra_content": {"\ufffd": "\ufffd"},
        }
    ]
    assert read.annotations == ["\ufffd"]
    assert chunk.error == "\ufffd"


def test_bytes_that_are_no_utf_8_become_replacement_characters() -> None:
    chunk = decode_chunk(b'{"choices":[{"delta":{"content":"T\xffide"}}]}')
    assert chunk.choices is not None
    assert chunk.choices[0].delta is not None
    assert chunk.choices[0].delta.content == "T\ufffdide"


@pytest.mark.parametrize(
    "wire", [b"", b"{", b'{"choices":[', b"tide", b'{"a":1}}', b"[" * 100_000, b"1" * 5000]
)
def test_what_is_no_json_is_the_backends_fault(wire: bytes) -> None:
    with pytest.raises(BackendError, match="not valid JSON"):
        decode_chunk(wire)


@pytest.mark.parametrize("wire", [b"null", b"1", b'"tide"', b"[]", b"true"])
def test_json_that_is_no_object_is_the_backends_fault(wire: bytes) -> None:
    with pytest.raises(BackendError, match="not a JSON object"):
        decode_chunk(wire)


def test_nesting_without_end_is_the_backends_fault_not_ours() -> None:
    deep = b'{"choices":[{"delta":{"content":' + b"[" * 100_000 + b"]" * 100_000 + b"}}]}"
    with pytest.raises(BackendError):
        decode_chunk(deep)


# Chunks that differ in their texts alone.

FORMS = (
    (b'{"choices":[{"delta":{"content":"', b'"}}]}'),
    (
        b'{"id":"a","choices":[{"index":0,"delta":{"content":"',
        b'"},"finish_reason":null}],"b":"a"}',
    ),
    (b'{"choices": [{"delta": {"content": "', b'", "content": "Tide"}}]}'),
    (b'{"choices":[{"delta":{"content":"Tide","content":"', b'"}}]}'),
    (b'{"a":"', b'","choices":[{"delta":{"content":"a"}}]}'),
)

STRINGS = (
    *(
        b"a",
        b"Tide",
        b" ",
        b"content",
        b"\xc3\xa9",
        rb"\n",
        rb"\u00e9",
        rb"\ud83c\udf0a",
        rb"\ud83c",
    ),
    *(rb"\udf0a", rb"\\", b"\\", rb"\"", b'"', b'a","b', b"\xff", b"\n", b""),
)
"""What can be between two quotes, right or wrong."""


def text_of(chunk: bytes) -> str:
    try:
        return decode_text(chunk).choices[0].delta.content
    except (ValueError, RecursionError):
        return ""


@examples(300)
@given(
    st.lists(st.tuples(st.sampled_from(FORMS), st.sampled_from(STRINGS)), min_size=1)
    | st.tuples(st.sampled_from(FORMS), st.lists(st.sampled_from(STRINGS), min_size=1)).map(
        lambda one: [(one[0], string) for string in one[1]]
    )
)
def test_texts_of_many_chunks_are_those_of_each(
    parts: list[tuple[tuple[bytes, bytes], bytes]],
) -> None:
    chunks = [before + string + behind for (before, behind), string in parts]
    each = [*takewhile(bool, map(text_of, chunks))]
    found = decode_texts(chunks)
    assert found == each[: len(found)]


@pytest.mark.parametrize("last", [b'{"choices":[{"delta":{},"finish_reason":"stop"}]}', b"[DONE]"])
def test_texts_up_to_another_chunk_are_decoded_together(last: bytes) -> None:
    texts = [" high", "water", "\n", " at", " six\t", "\N{WATER WAVE}"]
    chunks = [
        json.dumps({"id": "a", "choices": [{"delta": {"content": text}}]}).encode()
        for text in texts
    ]
    assert decode_texts([*chunks, last, last]) == texts


def test_texts_with_quotes_are_left_to_be_decoded_one_by_one() -> None:
    chunks = [b'{"choices":[{"delta":{"content":"%b"}}]}' % text for text in (b"a", b'\\"', b"b")]
    assert decode_texts(chunks) == []
