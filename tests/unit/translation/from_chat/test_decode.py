import json

import pytest

from antiphon.errors import BackendError
from antiphon.translation.from_chat.decode import decode_chunk

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
