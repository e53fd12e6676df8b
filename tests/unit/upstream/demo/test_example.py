import re
import string
from contextlib import suppress
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from antiphon.upstream.demo.example import FORMATS, NoExampleError, example_of
from antiphon.upstream.demo.schema import CHECKS

ASKED = "What is the weather in Paris this weekend?"


def check(schema, text=ASKED):
    value = example_of(schema, text)
    Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER).validate(value)
    return value


def bounds(least, most, values):
    """None, one or two bounds that leave room."""
    both = st.tuples(values, values).map(sorted).map(lambda pair: {least: pair[0], most: pair[1]})
    return st.just({}) | values.map(lambda value: {least: value}) | values.map(lambda value: {most: value}) | both


def merged(*parts):
    return st.tuples(*parts).map(lambda dicts: {name: value for one in dicts for name, value in one.items()})


SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.text(string.ascii_letters, max_size=5)
STRINGS = merged(st.just({"type": "string"}), bounds("minLength", "maxLength", st.integers(0, 30)))
PATTERNS = st.builds(
    lambda pattern, least: {"type": "string", "pattern": pattern, "minLength": least},
    *(st.sampled_from(["^[a-z]+$", r"^\d{3}-\w*$", "^(a|b)+$", "x"]), st.just(0)),
)
INTEGERS = merged(st.just({"type": "integer"}), bounds("minimum", "maximum", st.integers(-100, 100)))
MULTIPLES = st.builds(
    lambda step, least: {"type": "integer", "multipleOf": step, "minimum": least},
    *(st.integers(1, 50), st.integers(-500, 500)),
)
NUMBERS = merged(
    st.just({"type": "number"}),
    bounds("minimum", "maximum", st.floats(-100, 100)),
)
OPEN_NUMBERS = st.builds(
    lambda least, width: {"type": "number", "exclusiveMinimum": least, "exclusiveMaximum": least + width},
    *(st.integers(-100, 100), st.integers(1, 3)),
)
LEAVES = st.one_of(
    *(STRINGS, PATTERNS, INTEGERS, MULTIPLES, NUMBERS, OPEN_NUMBERS),
    st.sampled_from(sorted(FORMATS)).map(lambda name: {"type": "string", "format": name}),
    st.sampled_from(["string", "integer", "number", "boolean", "null"]).map(lambda kind: {"type": kind}),
    st.lists(st.sampled_from(["string", "null", "integer"]), min_size=1, unique=True).map(
        lambda kinds: {"type": kinds}
    ),
    SCALARS.map(lambda value: {"const": value}),
    st.lists(SCALARS, min_size=1, max_size=4).map(lambda values: {"enum": values}),
    st.just({}),
)
NAMES = st.text(string.ascii_lowercase, min_size=1, max_size=6)


@st.composite
def objects(draw, inner):
    properties = draw(st.dictionaries(NAMES, inner, max_size=4))
    schema = {"type": "object", "properties": properties}
    if draw(st.booleans()):
        schema["required"] = draw(st.lists(st.sampled_from(sorted(properties)), unique=True)) if properties else []
    if draw(st.booleans()):
        schema["additionalProperties"] = False
    elif draw(st.booleans()):
        schema["minProperties"] = draw(st.integers(0, 6))
    return schema


@st.composite
def arrays(draw, inner):
    schema = {"type": "array", "items": draw(inner), **draw(bounds("minItems", "maxItems", st.integers(0, 4)))}
    if draw(st.booleans()):
        schema["prefixItems"] = draw(st.lists(inner, max_size=3))
    return schema


def grown(inner):
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(objects(inner), arrays(inner), several.map(lambda branches: {"anyOf": branches}))


SCHEMAS = st.recursive(LEAVES, grown, max_leaves=10)


@given(SCHEMAS, st.text(max_size=40))
def test_an_example_fits_its_schema(schema, text):
    check(schema, text)


@given(st.dictionaries(NAMES, SCHEMAS, min_size=1, max_size=4), SCHEMAS)
def test_a_schema_of_definitions_has_an_example(definitions, schema):
    references = {name: {"$ref": f"#/$defs/{name}"} for name in definitions}

    check({"$defs": definitions, "type": "object", "properties": {**references, "own": schema}})


INSEPARABLE = {"properties", "additionalProperties", "prefixItems", "items"}


@given(SCHEMAS, st.sets(st.sampled_from(["type", "minimum", "minLength", "maxItems", "required", "anyOf", "pattern"])))
def test_a_schema_in_two_parts_has_an_example(schema, names):
    parts = [
        {name: value for name, value in schema.items() if (name in names - INSEPARABLE) is taken}
        for taken in (False, True)
    ]

    check({"allOf": parts})


@pytest.mark.parametrize(
    ("parts", "example"),
    [
        ([{"type": "integer", "minimum": 2}, {"type": "number", "minimum": 5}], 5),
        ([{"type": ["string", "null"]}, {"type": ["null", "boolean"]}], None),
        ([{"enum": [1, 2, 3]}, {"enum": [3, 4]}], 3),
        ([{"type": "integer", "multipleOf": 4}, {"multipleOf": 6}], 12),
        ([{"anyOf": [{"const": 1}, {"const": 2}]}, {"anyOf": [{"const": 2}, {"const": 3}]}], 2),
        (
            [{"required": ["a"]}, {"required": ["b"]}, {"properties": {"a": {"const": 1}, "b": {"const": 2}}}],
            {"a": 1, "b": 2},
        ),
        ([{"properties": {"a": {"type": "integer"}}}, {"properties": {"a": {"minimum": 9}}}], {"a": 9}),
        ([{"items": {"type": "integer"}}, {"items": {"minimum": 9}}], [9]),
    ],
)
def test_an_example_of_what_several_schemas_ask_fits_them_all(parts, example):
    assert check({"allOf": parts}) == example


JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3))
KEYWORDS = st.sampled_from([*CHECKS, "pattern", "format", "default", "examples", "nullable", "$defs"])
NONSENSE = st.recursive(
    JSON | st.sampled_from(["#", "#/properties", "object", "array", "string", 1e308, 0.1, -1]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS | NAMES, inner, max_size=5),
    max_leaves=20,
)


@given(NONSENSE, st.text(max_size=20))
def test_whatever_is_given_as_a_schema_there_is_an_example_or_none_is_found(schema, text):
    with suppress(NoExampleError):
        example_of(schema, text)


@pytest.mark.parametrize(
    ("schema", "example"),
    [
        ({"type": "object", "properties": {"city": {"type": "string"}}}, {"city": "Paris"}),
        (
            {"type": "object", "properties": {"city": {"type": "string"}, "unit": {"type": "string"}}},
            {"city": "Paris", "unit": "unit"},
        ),
        (
            {"properties": {"days": {"type": "integer"}, "city": {"type": "string"}}},
            {"days": 1, "city": "Paris"},
        ),
        (
            {"properties": {"unit": {"enum": ["C", "F"]}, "place": {"properties": {"name": {"type": "string"}}}}},
            {"unit": "C", "place": {"name": "Paris"}},
        ),
        ({"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["b"]}, {"b": "Paris"}),
        ({"type": "array", "items": {"type": "string"}}, ["Paris"]),
        ({"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": True}, ["Paris", "Paris 2"]),
        ({"type": "string", "default": "Rome"}, "Rome"),
        ({"type": "string", "default": 5}, "Paris"),
        ({"type": ["null", "integer"]}, 1),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, None),
        ({"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 0}]}, 1.5),
        ({"type": "string", "nullable": True}, "Paris"),
        ({"not": {"const": 1}, "type": "integer"}, 2),
        ({"type": "string", "pattern": "^[A-Z]{3}$"}, "AAA"),
        ({"type": "string", "pattern": r"^\d+$", "minLength": 6}, "000000000"),
        ({"type": "string", "maxLength": 3}, "Par"),
        ({"type": "number", "multipleOf": 0.1, "minimum": 1.05, "maximum": 1.15}, 1.1),
        ({"type": "integer", "exclusiveMinimum": 7, "multipleOf": 7}, 14),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False}, ["Paris", 1]),
        (
            {"type": "array", "uniqueItems": True, "minItems": 2, "items": {"anyOf": [{"const": 1}, {"const": 2}]}},
            [1, 2],
        ),
        ({"enum": ["x"], "type": "string"}, "x"),
        (True, "Paris"),
        ({}, "Paris"),
    ],
)
def test_an_example_reads_as_a_person_would_write_it(schema, example):
    assert example_of(schema, ASKED) == example


def test_a_schema_that_refers_to_itself_has_an_example_that_ends():
    node = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
        },
        "required": ["name", "children", "next"],
        "additionalProperties": False,
    }

    assert check({"$ref": "#/$defs/node", "$defs": {"node": node}}) == {"name": "Paris", "children": [], "next": None}


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"enum": [1], "type": "string"},
        {"minimum": 2, "maximum": 1},
        {"$ref": "#"},
        {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}},
        {"type": "object", "required": ["a"], "additionalProperties": False},
        {"type": "string", "minLength": 10**9},
        {"type": "array", "minItems": 10**9},
        {"type": "string", "pattern": "(?=a)"},
    ],
)
def test_where_nothing_fits_nothing_is_invented(schema):
    with pytest.raises(NoExampleError):
        example_of(schema)


def doubling(levels):
    """Each definition holds the next one twice: the value would have 2**levels leaves."""
    defs = {
        f"d{level}": {
            "type": "object",
            "properties": {name: {"$ref": f"#/$defs/d{level + 1}"} for name in ("a", "b")},
            "required": ["a", "b"],
        }
        for level in range(levels)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**defs, f"d{levels}": {"type": "null"}}}


def nested(levels):
    schema = {"type": "integer"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema, "minItems": 1}
    return schema


@pytest.mark.parametrize("schema", [doubling(60), nested(400), {"anyOf": [{"allOf": [{"$ref": "#"}] * 9}] * 9}])
def test_no_schema_takes_long(schema):
    began = process_time()

    with pytest.raises(NoExampleError):
        example_of(schema)

    assert process_time() - began < 2


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_texts_of_a_format_differ_where_they_must(name):
    schema = {"type": "array", "items": {"type": "string", "format": name}, "minItems": 12, "uniqueItems": True}

    assert len(set(check(schema))) == 12


def test_patterns_are_kept():
    schema = {"properties": {"code": {"pattern": "^[a-z]{2}(-[A-Z]{2})?$", "minLength": 5}}}

    assert re.fullmatch("[a-z]{2}(-[A-Z]{2})?", check(schema)["code"])
