"""Which JSON Schemas a function or a text format may have."""

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import ClientError
from antiphon.protocol.formats import JsonSchemaFormat
from antiphon.protocol.tools import FunctionTool
from antiphon.protocol.validation.schema_rules import check_function_schema, check_text_schema

STRING = {"type": "string"}


def closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def wrong(parameters: dict[str, Any], strict: bool | None) -> str:
    with pytest.raises(ClientError) as caught:
        check_function_schema(
            FunctionTool(name="f", parameters=parameters, strict=strict), "tools[3]"
        )
    error = caught.value
    assert (error.status, error.code, error.param) == (
        400,
        "invalid_function_parameters",
        "tools[3].parameters",
    )
    start = "Invalid schema for function 'f': "
    assert error.message.startswith(start)
    return error.message.removeprefix(start)


FITTING = {
    "no properties": closed(),
    "nested": closed(a=closed(b={"type": "array", "items": closed(c=STRING)})),
    "nullable": closed(a={"type": ["string", "null"]}),
    "a choice of schemas": closed(a={"anyOf": [STRING, closed(b=STRING)]}),
    "an enumeration without type": closed(a={"enum": ["x", {"additionalProperties": True}]}),
    "a reference to itself": closed(a={"$ref": "#"}),
    "a reference to a definition": closed(a={"$ref": "#/$defs/x~1y"}) | {"$defs": {"x/y": STRING}},
    "a property called $ref": closed(**{"$ref": STRING, "not": STRING, "properties": STRING}),
    "a property called default": closed(default=STRING),
    "a dialect": closed(a=STRING) | {"$schema": "https://json-schema.org/draft/2020-12/schema"},
    "a pattern that would never end": closed(a=STRING | {"pattern": "(a+)+$"}),
}


@pytest.mark.parametrize("schema", FITTING.values(), ids=FITTING)
def test_a_closed_schema_may_be_strict(schema: dict[str, Any]) -> None:
    check_function_schema(FunctionTool(name="f", parameters=schema, strict=True), "tools[0]")


REQUIRED = (
    "'required' is required to be supplied and to be an array including every key in properties. "
    "Missing"
)
CLOSED = "'additionalProperties' is required to be supplied and to be false."
NOT_STRICT = {
    "no type": ({}, """schema must be a JSON Schema of 'type: "object"', got 'type: "None"'."""),
    "open below": (
        closed(a={"type": "object", "properties": {}}),
        f"In context=('properties', 'a'), {CLOSED}",
    ),
    "optional below": (
        closed(a={"type": "array", "items": closed(b=STRING) | {"required": []}}),
        f"In context=('properties', 'a', 'items'), {REQUIRED} 'b'.",
    ),
    "open in a choice": (
        closed(a={"anyOf": [STRING, {"type": "object"}]}),
        f"In context=('properties', 'a', 'anyOf', '1'), {CLOSED}",
    ),
    "open in a definition": (
        closed() | {"$defs": {"d": {"type": "object"}}},
        f"In context=('$defs', 'd'), {CLOSED}",
    ),
    "no type below": (
        closed(a={}),
        "In context=('properties', 'a'), schema must have a 'type' key.",
    ),
    "array of nothing": (
        closed(a={"type": "array"}),
        "In context=('properties', 'a'), array schema missing items.",
    ),
    "a keyword no decoder can keep": (
        closed(a={"allOf": [STRING]}),
        "In context=('properties', 'a'), 'allOf' is not permitted.",
    ),
    "a reference to nowhere": (
        closed(a={"$ref": "#/$defs/b"}),
        "In context=('properties', 'a'), reference '#/$defs/b' not found.",
    ),
    "required that is no array": (
        closed(a=STRING) | {"required": "a"},
        "In context=(), 'required' must be an array.",
    ),
    "properties that are no object": (
        closed() | {"properties": ["a"]},
        "In context=(), 'properties' must be an object.",
    ),
}


@pytest.mark.parametrize(("schema", "words"), NOT_STRICT.values(), ids=NOT_STRICT)
def test_a_strict_schema_that_is_not_is_refused_with_the_place(
    schema: dict[str, Any], words: str
) -> None:
    assert wrong(schema, strict=True) == words


@pytest.mark.parametrize("strict", [None, False])
@pytest.mark.parametrize(
    "schema",
    [{}, {"properties": {"a": {}}}, {"type": "object", "allOf": [{"properties": {"a": True}}]}],
)
def test_a_schema_that_is_not_strict_may_be_loose(
    schema: dict[str, Any], strict: bool | None
) -> None:
    check_function_schema(FunctionTool(name="f", parameters=schema, strict=strict), "tools[0]")


@pytest.mark.parametrize(
    "target", ["https://example.com/a.json", "file:///etc/passwd", "other.json", "", 1, {}]
)
@pytest.mark.parametrize("strict", [True, False])
def test_a_reference_out_of_the_schema_is_refused(target: Any, strict: bool) -> None:
    words = wrong(closed(a={"type": "array", "items": {"$ref": target}}), strict)
    place = "In context=('properties', 'a', 'items'), "
    assert words.startswith(f"{place}$ref ") and words.endswith(f"got '{target}'.")


def test_a_lookalike_of_a_reference_inside_data_is_not_resolved() -> None:
    schema = closed(a=STRING | {"default": {"$ref": "https://example.com"}, "const": {"$ref": "x"}})
    check_function_schema(FunctionTool(name="f", parameters=schema, strict=True), "tools[0]")


def test_a_text_format_has_the_same_rules_and_its_own_code() -> None:
    with pytest.raises(ClientError) as caught:
        check_text_schema(JsonSchemaFormat(name="n", schema={"type": "object"}, strict=True))
    error = caught.value
    assert (error.code, error.param) == ("invalid_json_schema", "text.format.schema")
    assert error.message == f"Invalid schema for response_format 'n': In context=(), {CLOSED}"
    check_text_schema(JsonSchemaFormat(name="n", schema={"type": "object"}))


SCHEMAS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["object", "array", "string", "#", "#/items/0", "x"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "required",
                    "items",
                    "additionalProperties",
                    "anyOf",
                    "$ref",
                    "enum",
                ]
            ),
            inner,
        )
    ),
)


@pytest.mark.wide
@given(
    st.dictionaries(
        st.sampled_from(["type", "properties", "required", "items", "anyOf", "$ref"]), SCHEMAS
    )
)
def test_whatever_the_schema_it_is_taken_or_refused(schema: dict[str, Any]) -> None:
    for strict in (True, False):
        with pytest.raises(ClientError):
            check_function_schema(
                FunctionTool(name="f", parameters=schema, strict=strict), "tools[0]"
            )
            raise ClientError("taken")
    with pytest.raises(ClientError):
        check_function_schema(
            FunctionTool(name="f", parameters=closed(a=schema), strict=True), "tools[0]"
        )
        raise ClientError("taken")


@pytest.mark.parametrize("index", ["0", "9", "9" * 5000, "-1", "x", ""])
def test_a_reference_into_a_list_leads_to_one_of_its_members_or_nowhere(index: str) -> None:
    schema = closed(a={"anyOf": [STRING, {"$ref": f"#/properties/a/anyOf/{index}"}]})
    if index == "0":
        check_function_schema(FunctionTool(name="f", parameters=schema, strict=True), "tools[0]")
    else:
        assert "not found" in wrong(schema, strict=True)


def chain(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = closed()
    for _ in range(levels):
        schema = closed(a=schema)
    return schema


HARD = {
    "200 levels": chain(200),
    "10,000 properties": closed(**{f"p{i}": STRING for i in range(10_000)}),
    "10,000 properties, none required": closed(**{f"p{i}": STRING for i in range(10_000)})
    | {"required": []},
    "3,000 references to a deep place": closed(
        **{f"p{i}": {"$ref": "#" + "/properties/a" * 50} for i in range(3000)}
    ),
    "recursion": closed(a={"$ref": "#"}, b={"anyOf": [{"$ref": "#/properties/b"}]}),
    "a regular expression that never ends": closed(**{"a" * 40: STRING | {"pattern": "(a+)+$"}}),
}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("schema", HARD.values(), ids=HARD)
def test_the_work_to_judge_a_schema_grows_no_faster_than_the_schema(
    schema: dict[str, Any], strict: bool
) -> None:
    """Counted in calls of functions, which no busy machine changes; the size is that of the schema
    as JSON.
    """
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        check_function_schema(FunctionTool(name="f", parameters=schema, strict=strict), "tools[0]")
    except ClientError as error:
        assert strict, error
    finally:
        sys.setprofile(None)
    assert calls < 2 * len(json.dumps(schema)) + 1000
