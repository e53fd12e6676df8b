"""The root of a tool's schema is an object, which everything that the client's schema permits matches."""

import json
import time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from antiphon.protocol.schemas import misfit
from antiphon.translation.to_chat.schema_roots import COMBINED, completed, flattened
from tests.support.cases import each

Schema = dict[str, Any]
TEXT = {"type": "string"}
EMPTY = {"type": "object", "properties": {}}
CREATE = {"type": "object", "properties": {"mode": {"const": "create"}, "name": TEXT}, "required": ["mode", "name"]}
DELETE = {"type": "object", "properties": {"mode": {"const": "delete"}, "id": TEXT}, "required": ["mode", "id"]}


@each(
    ("schema", "whole"),
    [
        ({}, EMPTY),
        ({"type": "object"}, EMPTY),
        ({"type": "object", "properties": None, "required": None}, EMPTY),
        ({"type": ["object", "null"]}, EMPTY),
        ({"type": "object", "properties": []}, EMPTY),
        ({"properties": {"a": TEXT}, "required": ["a"]}, {**EMPTY, "properties": {"a": TEXT}, "required": ["a"]}),
        ({"additionalProperties": TEXT, "$defs": {}}, {**EMPTY, "additionalProperties": TEXT, "$defs": {}}),
    ],
)
def test_a_schema_without_type_or_properties_gets_them(schema: Schema, whole: Schema) -> None:
    assert completed(schema) == whole
    assert flattened(schema) == (whole, "")


@each("schema", [{**EMPTY, "title": "x"}, {"oneOf": [CREATE]}, {"type": "object", "anyOf": [CREATE]}])
def test_a_whole_schema_and_a_choice_are_not_completed(schema: Schema) -> None:
    """A guard: the first is every usual tool, the second is what OpenAI judges itself."""
    assert completed(schema) is schema


FLAT: dict[str, tuple[Schema, Schema, str]] = {
    "a choice by a constant": (
        {"oneOf": [CREATE, DELETE]},
        {
            "properties": {"mode": {"type": "string", "enum": ["create", "delete"]}, "name": TEXT, "id": TEXT},
            "required": ["mode"],
        },
        'The arguments have exactly one of these forms:\n1. mode = "create", name\n2. mode = "delete", id',
    ),
    "a choice of what is required": (
        {**EMPTY, "properties": {"a": TEXT, "b": TEXT}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"properties": {"a": TEXT, "b": TEXT}},
        "The arguments have at least one of these forms:\n1. a\n2. b",
    ),
    "an object or nothing": (
        {"anyOf": [{**EMPTY, "properties": {"a": TEXT}, "required": ["a"]}, {"type": "null"}]},
        {"properties": {"a": TEXT}, "required": ["a"]},
        "",
    ),
    "a sum": (
        {"allOf": [CREATE, {"properties": {"force": {"type": "boolean"}}, "required": ["force"]}]},
        {
            "properties": {**CREATE["properties"], "force": {"type": "boolean"}},  # type: ignore[dict-item]
            "required": ["mode", "name", "force"],
        },
        "",
    ),
    "a reference": (
        {"$ref": "#/definitions/a~1b", "definitions": {"a/b": {**EMPTY, "properties": {"a": TEXT}, "required": ["a"]}}},
        {
            "properties": {"a": TEXT},
            "definitions": {"a/b": {**EMPTY, "properties": {"a": TEXT}, "required": ["a"]}},
            "required": ["a"],
        },
        "",
    ),
    "a choice in a sum, with titles": (
        {
            "title": "T",
            "allOf": [
                {"properties": {"n": {"type": "integer", "minimum": 1}}},
                {
                    "oneOf": [
                        {"title": "One", "properties": {"n": {"maximum": 3}}},
                        {"title": "All", "required": ["all"]},
                    ]
                },
            ],
        },
        {"properties": {"n": {"maximum": 3, "type": "integer", "minimum": 1}}, "title": "T"},
        "The arguments have exactly one of these forms:\n1. One: n (optional)\n2. All: all",
    ),
    "members that differ": (
        {"anyOf": [{"properties": {"x": TEXT}}, {"properties": {"x": {"type": "integer"}}}]},
        {"properties": {"x": {"anyOf": [TEXT, {"type": "integer"}]}}},
        "The arguments have at least one of these forms:\n1. x (optional)\n2. x (optional)",
    ),
    "what is excluded": (
        {**EMPTY, "not": {"required": ["a"]}},
        {"properties": {}},
        'The arguments must fit {"not":{"required":["a"]}}.',
    ),
    "a reference to nothing": ({"$ref": "https://example.com/schema"}, {"properties": {}}, ""),
    "a reference to itself": ({"$ref": "#"}, {"properties": {}}, ""),
    "a reference into a choice": (
        {"anyOf": [{"properties": {"x": TEXT}}, {"properties": {"y": {"$ref": "#/anyOf/0/properties/x"}}}]},
        {
            "properties": {"x": TEXT, "y": {"$ref": "#/$defs/anyOf_0/properties/x"}},
            "$defs": {"anyOf_0": {"properties": {"x": TEXT}}},
        },
        "The arguments have at least one of these forms:\n1. x (optional)\n2. y (optional)",
    ),
}


@each(("schema", "flat", "words"), FLAT.values(), ids=FLAT)
def test_a_root_that_is_no_object_becomes_one_and_words(schema: Schema, flat: Schema, words: str) -> None:
    before = json.dumps(schema)

    assert flattened(schema) == ({"type": "object", **flat}, words)
    assert json.dumps(schema) == before


EITHER = ["string", "null"]
ODD: dict[str, tuple[Schema, Schema]] = {
    "a list of types": (
        {"oneOf": [{"properties": {"p": {"type": EITHER, "enum": [one, None]}}} for one in "ab"]},
        {"properties": {"p": {"type": EITHER, "enum": ["a", None, "b"]}}},
    ),
    "lists of types that differ": (
        {"oneOf": [{"properties": {"p": {"type": kind, "enum": ["a"]}}} for kind in (EITHER, ["string"])]},
        {"properties": {"p": {"type": "string", "enum": ["a"]}}},
    ),
    "a type that is none": (
        {"oneOf": [{"properties": {"p": {"type": {}, "const": one}}} for one in "ab"]},
        {"properties": {"p": {"enum": ["a", "b"]}}},
    ),
    "values without a hash": (
        {"oneOf": [{"properties": {"p": {"enum": [[one], {}]}}} for one in (1, True)]},
        {"properties": {"p": {"enum": [[1], {}, [True]]}}},
    ),
    "a required name without a hash": ({"allOf": [{"required": [["a"], {}, None]}]}, EMPTY),
    "an endless index": ({"$ref": "#/allOf/" + "9" * 5000, "allOf": [CREATE]}, CREATE),
    "an index in other digits": ({"$ref": "#/allOf/\u0660", "allOf": [{}]}, EMPTY),
    "an index of a text": ({"$ref": "#/title/0", "title": "T"}, {**EMPTY, "title": "T"}),
    "definitions that are a list": ({"$ref": "#/$defs/0", "$defs": [CREATE]}, {**CREATE, "$defs": [CREATE]}),
    "definitions that are a list, and another is needed": (
        {"anyOf": [{"properties": {"x": {"$ref": "#/anyOf/0"}}}], "$defs": [CREATE]},
        {
            "properties": {"x": {"$ref": "#/$defs/anyOf_0"}},
            "$defs": {"anyOf_0": {"properties": {"x": {"$ref": "#/$defs/anyOf_0"}}}},
        },
    ),
    "half a surrogate pair": (
        {"anyOf": [{"properties": {"p": {"const": one}}} for one in ("\ud83d", "\ude00")]},
        {"properties": {"p": {"type": "string", "enum": ["\ud83d", "\ude00"]}}},
    ),
    "half a surrogate pair next to a moved reference": (
        {"anyOf": [{"properties": {"\ud83d": {"$ref": "#/anyOf/0"}}}]},
        {
            "properties": {"\ud83d": {"$ref": "#/$defs/anyOf_0"}},
            "$defs": {"anyOf_0": {"properties": {"\ud83d": {"$ref": "#/$defs/anyOf_0"}}}},
        },
    ),
    "keywords of other types": (
        {"oneOf": {}, "anyOf": "x", "allOf": [None, 1, []], "$ref": 7, "title": [], "required": "a"},
        {**EMPTY, "title": []},
    ),
}


@each(("schema", "flat"), ODD.values(), ids=ODD)
def test_a_schema_that_clients_should_not_send_is_no_failure(schema: Schema, flat: Schema) -> None:
    assert flattened(schema)[0] == {"type": "object", **flat}


def test_only_alternatives_that_all_permit_no_more_make_an_object_that_permits_no_more() -> None:
    closed = {"additionalProperties": False}

    assert flattened({"oneOf": [{**CREATE, **closed}, {**DELETE, **closed}]})[0]["additionalProperties"] is False
    assert "additionalProperties" not in flattened({"oneOf": [{**CREATE, **closed}, DELETE]})[0]


def test_words_stay_short_and_say_how_many_forms_they_do_not_name() -> None:
    forms = [{"properties": {f"{index}_{'x' * 50}": TEXT}} for index in range(200)]
    flat, words = flattened({"oneOf": forms})

    assert len(flat["properties"]) == 200
    assert len(words) < 1600
    assert words.endswith("more.")


def test_references_that_multiply_end_soon() -> None:
    """A guard against a client that would stop the server."""
    levels = {f"l{n}": {"anyOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 10} for n in range(30)}
    begun = time.process_time()
    flat, _ = flattened({"$ref": "#/$defs/l0", "$defs": levels})

    assert flat["properties"] == {}
    assert time.process_time() - begun < 1


members = st.sampled_from([TEXT, {"type": "integer"}, {"const": "a"}, {"enum": ["a", 1]}, {}])
objects = st.fixed_dictionaries(
    {"properties": st.fixed_dictionaries(dict.fromkeys("abc", members))},
    optional={
        "type": st.just("object"),
        "required": st.lists(st.sampled_from("abc"), unique=True, max_size=2),
        "additionalProperties": st.booleans(),
    },
)
schemas = st.recursive(
    objects,
    lambda inner: st.sampled_from([("oneOf", "anyOf"), ("anyOf", "allOf"), ("allOf", "oneOf")]).flatmap(
        lambda keywords: st.fixed_dictionaries(
            {keywords[0]: st.lists(inner, min_size=1, max_size=3)},
            optional={
                "properties": st.dictionaries(st.sampled_from("abc"), members, max_size=3),
                keywords[1]: st.lists(inner, min_size=1, max_size=3),
                "required": st.lists(st.sampled_from("abc"), unique=True, max_size=2),
            },
        )
    ),
    max_leaves=6,
)
values = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["a", "b", 1, True]), max_size=4)


@given(schemas, values)
def test_whatever_the_client_permits_the_object_permits(schema: Schema, value: Any) -> None:
    """Each alternative declares all properties: one that does not permits any value of them, which nobody means."""
    flat, _ = flattened(schema)

    assert flat["type"] == "object" and isinstance(flat["properties"], dict)
    assert COMBINED.isdisjoint(flat)
    if not misfit(schema, json.dumps(value)):
        assert not misfit(flat, json.dumps(value))
