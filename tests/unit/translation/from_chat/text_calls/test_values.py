"""Values that came as text get the types of the tool's schema."""

from typing import Any

import pytest

from antiphon.protocol.tool_bindings import Offer
from antiphon.translation.from_chat.text_calls.found import NoCallError, RawCall, UnfinishedError
from antiphon.translation.from_chat.text_calls.values import decode_at, finished, typed

ROOT = {"$defs": {"size": {"type": "integer"}, "loop": {"$ref": "#/$defs/loop"}}}


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("5", {"type": "string"}, "5"),
        ('"quoted"', {"type": "string"}, '"quoted"'),
        ("5", {"type": "integer"}, 5),
        (" 5\n", {"type": "integer"}, 5),
        ("5.0", {"type": "integer"}, 5.0),
        ("5.5", {"type": "integer"}, "5.5"),
        ("007", {"type": "integer"}, "007"),
        ("five", {"type": "integer"}, "five"),
        ("1e3", {"type": "number"}, 1000.0),
        ("NaN", {"type": "number"}, "NaN"),
        ("true", {"type": "boolean"}, True),
        ("True", {"type": "boolean"}, True),
        ("yes", {"type": "boolean"}, "yes"),
        ("null", {"type": ["string", "null"]}, None),
        ("None", {"type": ["string", "null"]}, None),
        ("none", {"type": ["string", "null"]}, "none"),
        ("5", {"type": ["string", "null"]}, "5"),
        ('["a", 1]', {"type": "array"}, ["a", 1]),
        ("['a', 1]", {"type": "array"}, ["a", 1]),
        ("a, 1", {"type": "array"}, "a, 1"),
        ('{"a": "\n"}', {"type": "object"}, {"a": "\n"}),
        ("{'a': True}", {"type": "object"}, {"a": True}),
        ("[1, 2", {"type": "array"}, "[1, 2"),
        ("5", {}, "5"),
        ("true", {}, "true"),
        ("[5]", {}, [5]),
        ("5", {"anyOf": [{"type": "string"}, {"type": "integer"}]}, 5),
        ("x", {"oneOf": [{"type": "integer"}, {"type": "string"}]}, "x"),
        ("5", {"enum": ["5", "6"]}, "5"),
        ("5", {"enum": [5, 6]}, 5),
        ("5", {"const": 5}, 5),
        ("5", {"$ref": "#/$defs/size"}, 5),
        ("5", {"$ref": "#/$defs/loop"}, "5"),
        ("5", {"$ref": "#/nowhere/at/all"}, "5"),
        ("5", True, "5"),
        ("9" * 5000, {"type": "integer"}, "9" * 5000),
        ("[" * 100_000, {"type": "array"}, "[" * 100_000),
        ("(" * 9_000, {"type": "array"}, "(" * 9_000),
        ("open('x')", {"type": "array"}, "open('x')"),
    ],
)
def test_a_text_is_valid_as_its_schema_requires(text: str, schema: Any, value: Any) -> None:
    found = typed(text, schema, ROOT)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "is_short"), [('{"a": "', True), ("{", True), ("[1, 2", True), ("{'a'}", False)]
)
def test_incomplete_json_is_distinguished_from_invalid_json(text: str, is_short: bool) -> None:
    with pytest.raises(NoCallError) as caught:
        decode_at(text, 0)
    assert isinstance(caught.value, UnfinishedError) is is_short


OFFERS = {"look": Offer("look", name="look"), "patch": Offer("patch", "custom", "patch")}


@pytest.mark.parametrize(
    ("name", "arguments", "json"),
    [
        ("look", {"a": "é\ud83d"}, '{"a": "é\ufffd"}'),
        ("look", '{"a": 1}', '{"a": 1}'),
        ("look", "", "{}"),
        ("functions.look", {}, "{}"),
        ("patch", {"input": "*** Begin"}, '{"input": "*** Begin"}'),
        ("patch", "*** Begin", '{"input": "*** Begin"}'),
        ("patch", '{"input": "x"} and more', '{"input": "{\\"input\\": \\"x\\"} and more"}'),
    ],
)
def test_a_call_has_its_arguments_as_json(name: str, arguments: Any, json: str) -> None:
    assert finished(RawCall(name, arguments), OFFERS).arguments == json


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("look", "text"),
        ("look", [1]),
        ("look", 5),
        ("look", None),
        ("look", {"a": float("inf")}),
        ("rm", {}),
    ],
)
def test_what_is_no_call_of_an_offered_tool_is_refused(name: str, arguments: Any) -> None:
    with pytest.raises(NoCallError):
        finished(RawCall(name, arguments), OFFERS)
