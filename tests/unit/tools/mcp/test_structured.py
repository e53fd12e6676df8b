"""Structured content is shown to the model once, beside a text that says something else."""

from typing import Any

import msgspec

from antiphon.tools.mcp.validation import sound_result
from tests.support.cases import each


def texts(*text: str) -> list[dict[str, Any]]:
    """Text blocks of a result."""
    return [{"type": "text", "text": one} for one in text]


@each(
    ("content", "structured", "displayed"),
    [
        (texts("Two rows."), {"rows": [1, 2]}, ["Two rows.", '{"rows":[1,2]}']),
        (texts('{"a": 1}'), {"a": 1}, ['{"a": 1}']),
        (texts('{\n  "b": 2,\n  "a": 1\n}'), {"a": 1, "b": 2}, ['{\n  "b": 2,\n  "a": 1\n}']),
        (texts("A summary.", '{"a":1}'), {"a": 1}, ["A summary.", '{"a":1}']),
        (texts("one", "two"), {"result": ["one", "two"]}, ["one", "two"]),
        (texts('{"x":1}', '{"x":2}'), {"result": [{"x": 1}, {"x": 2}]}, ['{"x":1}', '{"x":2}']),
        (texts("sunny"), {"result": "sunny"}, ["sunny"]),
        (texts("5"), {"result": 5}, ["5"]),
        (texts("5"), {"result": 6}, ["5", '{"result":6}']),
        (texts("[" * 3_000), {"a": 1}, ["[" * 3_000, '{"a":1}']),
        ([], {"a": 1}, ['{"a":1}']),
        (texts("a"), None, ["a"]),
    ],
)
def test_structured_content_is_displayed_once(
    content: Any, structured: Any, displayed: list[str]
) -> None:
    raw = msgspec.json.encode({"content": content, "structuredContent": structured})
    assert [block["text"] for block in sound_result(raw)["content"]] == displayed


def test_structured_content_of_an_error_is_displayed_too() -> None:
    result = sound_result(
        b'{"content":[{"type":"text","text":"No."}],"structuredContent":{"code":7},"isError":true}'
    )
    assert result == {"content": texts("No.", '{"code":7}'), "isError": True}


def test_large_content_is_not_compared() -> None:
    large = b'{"content":[{"type":"text","text":"%b"}],"structuredContent":{"code":7}}' % (
        b"x" * 1_000_000
    )
    assert len(sound_result(large)["content"]) == 2
