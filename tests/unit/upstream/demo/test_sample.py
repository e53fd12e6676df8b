import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from antiphon.errors import ClientError
from antiphon.upstream.demo.sample import sample_json

PLACE = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
NODE = {
    "type": "object",
    "properties": {
        "value": {"type": "integer"},
        "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
        "more": {"type": "array", "items": {"$ref": "#/$defs/node"}},
    },
    "required": ["value", "next", "more"],
}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "example"),
        ({"type": "string", "minLength": 9}, "example.."),
        ({"type": "string", "maxLength": 2}, "ex"),
        ({"type": "integer"}, 1),
        ({"type": "integer", "minimum": 7}, 7),
        ({"type": "number", "exclusiveMinimum": 7}, 8),
        ({"type": "number", "maximum": 0.5}, 0.5),
        ({"type": "number", "exclusiveMaximum": 0}, -1),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({"type": ["null", "integer"]}, 1),
        ({"type": ["integer", "null"]}, 1),
        ({"const": 0}, 0),
        ({"type": "string", "enum": ["b", "a"]}, "b"),
        ({"type": "array", "items": {"type": "integer"}}, [1]),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 3}, [1, 1, 1]),
        ({"type": "array", "maxItems": 0}, []),
        ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "null"}]}, [1, None]),
        ({"type": "object", "properties": {"city": {"type": "string"}}}, {"city": "city"}),
        ({"properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]}, {"a": 1}),
        ({"type": "object", "required": ["a"]}, {"a": "a"}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 1),
        ({"oneOf": [PLACE, {"type": "null"}]}, {"name": "name"}),
        (
            {"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["b"]}]},
            {"b": "b"},
        ),
        ({"allOf": [{"$ref": "#/$defs/place"}], "$defs": {"place": PLACE}}, {"name": "name"}),
        ({"$ref": "#/$defs/place", "$defs": {"place": PLACE}}, {"name": "name"}),
        ({}, "example"),
        (True, "example"),
    ],
)
def test_a_sample_is_the_first_value_that_the_schema_suggests(schema, expected):
    sample = json.loads(sample_json(schema, "x"))

    assert sample == expected
    Draft202012Validator(schema).validate(sample)


def test_a_schema_that_contains_itself_has_an_end():
    schema = {"$ref": "#/$defs/node", "$defs": {"node": NODE}}

    Draft202012Validator(schema).validate(json.loads(sample_json(schema, "x")))


def pair(schema):
    return {"properties": {"a": schema, "b": schema}, "required": ["a", "b"]}


DOUBLING = {f"n{i}": pair({"$ref": f"#/$defs/n{i + 1}"}) for i in range(40)}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/nowhere"},
        {"$ref": 7},
        {"anyOf": []},
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"type": "object", "properties": 7},
        {"type": "array", "minItems": 10**12, "items": {}},
        {"type": "array", "minItems": "many"},
        {"type": "integer", "minimum": "much"},
        {"$ref": "#/$defs/n0", "$defs": DOUBLING | {"n40": {"type": "null"}}},
    ],
)
def test_a_schema_that_no_value_is_found_for_is_rejected(schema):
    with pytest.raises(ClientError) as caught:
        sample_json(schema, "tools")

    assert (caught.value.status, caught.value.param) == (400, "tools")


KEYWORDS = [
    "type",
    "properties",
    "required",
    "items",
    "anyOf",
    "$ref",
    "minimum",
    "minItems",
    "maxLength",
    "enum",
]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["object", "array", "string", "integer", "#"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_schema_is_a_fault_of_ours(schema):
    try:
        sample_json(schema, "tools")
    except ClientError as error:
        assert error.status == 400
