"""The root of a tool's schema is an object, which everything that the client's schema permits
matches.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from antiphon.protocol.schemas import misfit
from antiphon.translation.to_chat_completions.schema_reading import SPARE, SchemaBudget
from antiphon.translation.to_chat_completions.schema_roots import (
    COMBINED,
    TOO_LARGE,
    completed,
    flattened,
)
from tests.support.cases import each

Schema = dict[str, Any]
TEXT = {"type": "string"}
EMPTY = {"type": "object", "properties": {}}
CREATE = {
    "type": "object",
    "properties": {"mode": {"const": "create"}, "name": TEXT},
    "required": ["mode", "name"],
}
DELETE = {
    "type": "object",
    "properties": {"mode": {"const": "delete"}, "id": TEXT},
    "required": ["mode", "id"],
}


@each(
    ("schema", "whole"),
    [
        ({}, EMPTY),
        ({"type": "object"}, EMPTY),
        ({"type": "object", "properties": None, "required": None}, EMPTY),
        ({"type": ["object", "null"]}, EMPTY),
        ({"type": "object", "properties": []}, EMPTY),
        (
            {"properties": {"a": TEXT}, "required": ["a"]},
            {**EMPTY, "properties": {"a": TEXT}, "required": ["a"]},
        ),
        (
            {"additionalProperties": TEXT, "$defs": {}},
            {**EMPTY, "additionalProperties": TEXT, "$defs": {}},
        ),
    ],
)
def test_a_schema_without_type_or_properties_gets_them(schema: Schema, whole: Schema) -> None:
    assert completed(schema) == whole
    assert flattened(schema) == (whole, "")


@each(
    "schema", [{**EMPTY, "title": "x"}, {"oneOf": [CREATE]}, {"type": "object", "anyOf": [CREATE]}]
)
def test_a_whole_schema_and_a_choice_are_not_completed(schema: Schema) -> None:
    """A guard: the first is every usual tool, the second is what OpenAI judges itself."""
    assert completed(schema) is schema


FLAT: dict[str, tuple[Schema, Schema, str]] = {
    "a choice by a constant": (
        {"oneOf": [CREATE, DELETE]},
        {
            "properties": {
                "mode": {"type": "string", "enum": ["create", "delete"]},
                "name": TEXT,
                "id": TEXT,
            },
            "required": ["mode"],
        },
        'The arguments have exactly one of these forms:\n1. mode = "create", name\n2. mode = '
        '"delete", id',
    ),
    "a choice of what is required": (
        {
            **EMPTY,
            "properties": {"a": TEXT, "b": TEXT},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
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
        {
            "$ref": "#/definitions/a~1b",
            "definitions": {"a/b": {**EMPTY, "properties": {"a": TEXT}, "required": ["a"]}},
        },
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
        {
            "anyOf": [
                {"properties": {"x": TEXT}},
                {"properties": {"y": {"$ref": "#/anyOf/0/properties/x"}}},
            ]
        },
        {
            "properties": {"x": TEXT, "y": {"$ref": "#/$defs/anyOf_0/properties/x"}},
            "$defs": {"anyOf_0": {"properties": {"x": TEXT}}},
        },
        "The arguments have at least one of these forms:\n1. x (optional)\n2. y (optional)",
    ),
}


@each(("schema", "flat", "words"), FLAT.values(), ids=FLAT)
def test_a_root_that_is_no_object_becomes_one_and_words(
    schema: Schema, flat: Schema, words: str
) -> None:
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
        {
            "oneOf": [
                {"properties": {"p": {"type": kind, "enum": ["a"]}}}
                for kind in (EITHER, ["string"])
            ]
        },
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
    "definitions that are a list": (
        {"$ref": "#/$defs/0", "$defs": [CREATE]},
        {**CREATE, "$defs": [CREATE]},
    ),
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
        {
            "oneOf": {},
            "anyOf": "x",
            "allOf": [None, 1, []],
            "$ref": 7,
            "title": [],
            "required": "a",
        },
        {**EMPTY, "title": []},
    ),
}


@each(("schema", "flat"), ODD.values(), ids=ODD)
def test_a_schema_that_clients_should_not_send_is_no_failure(schema: Schema, flat: Schema) -> None:
    assert flattened(schema)[0] == {"type": "object", **flat}


A = {
    "type": "object",
    "properties": {"a": TEXT},
    "required": ["a"],
    "description": "Finds.",
    "minProperties": 1,
}
NAMED = {"additionalProperties": TEXT, "patternProperties": {"^x-": {"type": "integer"}}}
IF = {"if": {"required": ["a"]}, "then": {"required": ["b"]}}
RETAINED: dict[str, tuple[Schema, Schema, str]] = {
    "a reference": (
        {"$ref": "#/$defs/it", "$defs": {"it": A | NAMED}},
        {**A, **NAMED, "$defs": {"it": A | NAMED}},
        "",
    ),
    "a reference to a closed one": (
        {"$ref": "#/$defs/it", "$defs": {"it": A | {"additionalProperties": False}}},
        {**A, "additionalProperties": False, "$defs": {"it": A | {"additionalProperties": False}}},
        "",
    ),
    "a reference to one without properties": (
        {"$ref": "#/$defs/it", "$defs": {"it": {"additionalProperties": False}}},
        {**EMPTY, "additionalProperties": False, "$defs": {"it": {"additionalProperties": False}}},
        "",
    ),
    "a reference with an escaped blank": (
        {"$ref": "#/$defs/My%20it", "$defs": {"My it": A}},
        {**A, "$defs": {"My it": A}},
        "",
    ),
    "a reference of a reference": (
        {"$ref": "#/$defs/b", "$defs": {"a": A, "b": {"$ref": "#/$defs/a", "maxProperties": 9}}},
        {
            **A,
            "maxProperties": 9,
            "$defs": {"a": A, "b": {"$ref": "#/$defs/a", "maxProperties": 9}},
        },
        "",
    ),
    "a sum of one": ({"allOf": [A | NAMED | IF]}, {**A, **NAMED, **IF}, ""),
    "a choice of one": ({"oneOf": [A | NAMED]}, {**A, **NAMED}, ""),
    "a choice of one and nothing": ({"anyOf": [{"type": "null"}, A, False]}, A, ""),
    "a sum of different ones": (
        {"allOf": [A, {"propertyNames": {"maxLength": 9}, "dependentRequired": {"a": ["b"]}}]},
        {**A, "propertyNames": {"maxLength": 9}, "dependentRequired": {"a": ["b"]}},
        "",
    ),
    "the root's own words come first": (
        {"title": "T", "description": "Mine.", "minProperties": 2, "allOf": [A | {"title": "A"}]},
        {**A, "title": "T", "description": "Mine.", "minProperties": 2},
        'Finds.\nThe arguments must fit {"minProperties":1}.',
    ),
    "patterns of both": (
        {
            "allOf": [
                {"patternProperties": {"^x": TEXT}},
                {"patternProperties": {"^x": {"minLength": 1}, "^y": TEXT}},
            ]
        },
        {**EMPTY, "patternProperties": {"^x": {"minLength": 1, **TEXT}, "^y": TEXT}},
        "",
    ),
    "conditions of both": (
        {"allOf": [IF, {**IF, "else": {"required": ["c"]}}]},
        {**EMPTY, **IF},
        "The arguments must fit "
        '{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}.',
    ),
    "a required name that nothing describes": (
        {"allOf": [{"required": ["a"]}]},
        {**EMPTY, "properties": {"a": {}}, "required": ["a"]},
        "",
    ),
    "other rules of alternatives": (
        {
            "oneOf": [
                {**CREATE, "minProperties": 3, "description": "Creates."},
                {**DELETE, "title": "Del", "description": "x"},
            ]
        },
        {
            "properties": {
                "mode": {"type": "string", "enum": ["create", "delete"]},
                "name": TEXT,
                "id": TEXT,
            },
            "required": ["mode"],
        },
        "The arguments have exactly one of these forms:\n"
        '1. Creates.: mode = "create", name; fits {"minProperties":3}\n2. Del (x): mode = '
        '"delete", id',
    ),
    "a rule that is long": (
        {"not": {"const": "x" * 2000}},
        EMPTY,
        "The arguments must also fit the tool's rules for `not`, which are too long "
        "to be shown here.",
    ),
    "descriptions of values": (
        {
            "anyOf": [
                {"properties": {"p": {"const": one, "title": "P", "description": f"Is {one}."}}}
                for one in "ab"
            ]
        },
        {
            "properties": {
                "p": {
                    "type": "string",
                    "enum": ["a", "b"],
                    "title": "P",
                    "description": '"a": Is a.\n"b": Is b.',
                }
            }
        },
        'The arguments have at least one of these forms:\n1. p = "a" (optional)\n2. p = "b" '
        "(optional)",
    ),
    "descriptions of a property in both parts": (
        {
            "allOf": [
                {"properties": {"p": {**TEXT, "description": "One."}}},
                {"properties": {"p": {"description": "Two."}}},
            ]
        },
        {"properties": {"p": {**TEXT, "description": "One.\nTwo."}}},
        "",
    ),
    "conditions of a property in both parts": (
        {
            "allOf": [
                {"properties": {"p": {"if": {"const": 1}}}},
                {"properties": {"p": {"then": False}}},
            ]
        },
        {"properties": {"p": {"allOf": [{"if": {"const": 1}}, {"then": False}]}}},
        "",
    ),
    "alternatives that describe each other's properties by a pattern": (
        {
            "anyOf": [
                {"properties": {"x": {"const": 1, "description": "D"}}},
                {"patternProperties": {"^x": TEXT}},
            ]
        },
        {"properties": {"x": {"description": "D"}}},
        "The arguments have at least one of these forms:\n1. x = 1 (optional)\n"
        '2. any object; fits {"patternProperties":{"^x":{"type":"string"}}}',
    ),
    "alternatives that evaluate other properties": (
        {
            "unevaluatedProperties": False,
            "oneOf": [{"properties": {"x": TEXT}, "additionalProperties": TEXT}, CREATE],
        },
        {"properties": {"x": TEXT, "mode": {}, "name": {}}},
        "The arguments have exactly one of these forms:\n"
        '1. x (optional); fits {"additionalProperties":{"type":"string"}}\n2. mode = "create", '
        "name\n"
        'The arguments must fit {"unevaluatedProperties":false}.',
    ),
    "an alternative that permits everything": (
        {"anyOf": [True, A]},
        {"properties": {"a": TEXT}},
        "The arguments have at least one of these forms:\n1. any object\n2. Finds.: a; fits "
        '{"minProperties":1}',
    ),
    "a name of a definition that is taken": (
        {"anyOf": [{"properties": {"x": {"$ref": "#/anyOf/0"}}}], "$defs": {"anyOf_0": TEXT}},
        {
            "properties": {"x": {"$ref": "#/$defs/anyOf_0_"}},
            "$defs": {
                "anyOf_0": TEXT,
                "anyOf_0_": {"properties": {"x": {"$ref": "#/$defs/anyOf_0_"}}},
            },
        },
        "",
    ),
}
"""What a schema says beside its properties is kept, or described."""


@each(("schema", "flat", "words"), RETAINED.values(), ids=RETAINED)
def test_no_rule_and_no_description_is_lost(schema: Schema, flat: Schema, words: str) -> None:
    before = json.dumps(schema)

    assert flattened(schema) == ({"type": "object", **flat}, words)
    assert json.dumps(schema) == before


def test_only_alternatives_that_all_permit_no_more_make_an_object_that_permits_no_more() -> None:
    closed = {"additionalProperties": False}

    assert (
        flattened({"oneOf": [{**CREATE, **closed}, {**DELETE, **closed}]})[0][
            "additionalProperties"
        ]
        is False
    )
    assert "additionalProperties" not in flattened({"oneOf": [{**CREATE, **closed}, DELETE]})[0]


def test_words_stay_short_and_count_the_unnamed_forms() -> None:
    forms = [{"properties": {f"{index}_{'x' * 50}": TEXT}} for index in range(200)]
    flat, words = flattened({"oneOf": forms})

    assert len(flat["properties"]) == 200
    assert len(words) < 1600
    assert words.endswith("more.")


def some(count: int, member: Any = TEXT) -> Schema:
    return {f"p{index}": member for index in range(count)}


def sharing(count: int, shared: Schema, *more: Schema) -> Schema:
    """A choice of many forms, each a sum of what all share and one of `more`."""
    forms = [{"allOf": [{"$ref": "#/$defs/it"}, more[index % len(more)]]} for index in range(count)]
    return {"oneOf": forms, "$defs": {"it": shared}}


def deep(levels: int) -> Schema:
    schema: Schema = {}
    for _ in range(levels):
        schema = {"allOf": [schema]}
    return schema


LEVELS = {
    f"l{n}": {"anyOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 10, "properties": some(9)}
    for n in range(30)
}
LENGTHS = [{"properties": {"p": {"minLength": length}}} for length in range(160)]
HOSTILE: dict[str, Schema] = {
    "references that multiply": {"$ref": "#/$defs/l0", "$defs": LEVELS},
    "a sum of many properties, many times": {
        "allOf": [{"$ref": "#/$defs/it"}] * 490,
        "$defs": {"it": some(5000)},
    },
    "the same in an object": {
        "allOf": [{"$ref": "#/$defs/it"}] * 490,
        "$defs": {"it": {"properties": some(5000)}},
    },
    "a shared pattern, 160 times": sharing(
        160, {"properties": {"p": {"pattern": "x" * 200_000}}}, *LENGTHS
    ),
    "a shared pattern, shorter": sharing(
        160, {"properties": {"p": {"pattern": "x" * 5_000}}}, *LENGTHS
    ),
    "a property that is narrowed again and again": {"allOf": LENGTHS * 5},
    "shared values": sharing(
        400, {"properties": {"p": {"enum": list(range(9000))}}}, *({"required": [x]} for x in "ab")
    ),
    "many values": {
        "oneOf": [{"properties": {"p": {"enum": list(range(n, n + 20_000))}}} for n in (0, 1)]
    },
    "shared required names": sharing(400, {"required": [str(index) for index in range(2000)]}, {}),
    "shared rules": sharing(400, {"not": {"const": "x" * 1400}}, {}),
    "shared descriptions": sharing(
        400, {"description": "x" * 20_000}, *({"description": f"{n}"} for n in range(9))
    ),
    "many rules": {"allOf": [{"not": {"const": f"{index}{'x' * 1000}"}} for index in range(200)]},
    "many descriptions": {
        "allOf": [{"description": f"{index}{'x' * 1000}"} for index in range(200)]
    },
    "many keywords": {"allOf": [{f"x-{index}": 1 for index in range(200)}] * 90},
    "many forms of maps": {
        "oneOf": [{"properties": some(n), "additionalProperties": TEXT} for n in range(120)]
    },
    "alternatives that name the next one": {
        "anyOf": [{"properties": {"x": {"$ref": f"#/anyOf/{index + 1}"}}} for index in range(500)]
    },
    "one alternative by many paths": {
        "anyOf": [
            {"description": "x" * 9000},
            *({"properties": {"x": {"$ref": f"#/anyOf/{'0' * n}"}}} for n in (1, 2, 3)),
        ]
    },
    "long references": {"allOf": [{"$ref": "#/" + "a/" * 100_000}] * 300},
    "long names": {
        "oneOf": [{"properties": {"n" * 1000 + str(index): {}}} for index in range(200)]
    },
    "large": {"oneOf": [{"properties": some(100)}] * 5000},
    "a large object with a choice": {"properties": some(100_000), "oneOf": [{"required": ["p1"]}]},
    "deep": deep(900),
}


def work(do: Callable[[], Any]) -> int:
    """How many functions are called."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        do()
    finally:
        sys.setprofile(None)
    return calls


@each("schema", HOSTILE.values(), ids=HOSTILE)
def test_no_schema_takes_long_or_multiplies(schema: Schema) -> None:
    """150,000 calls take 10 ms."""
    flat, words = flattened(schema)
    size = len(msgspec.json.encode(schema)) if schema is not HOSTILE["deep"] else 0

    assert work(lambda: flattened(schema)) < 150_000
    assert len(msgspec.json.encode(flat)) <= 2 * size + SPARE
    assert len(words) <= 8_200
    assert COMBINED.isdisjoint(flat)


def test_all_tools_of_a_request_take_little_more_than_one() -> None:
    """The steps of a request are limited, and one tool cannot take those of all others."""
    hostile = HOSTILE["the same in an object"]
    usual = {"oneOf": [CREATE, DELETE]}
    budget = SchemaBudget()

    assert flattened(hostile, budget)[1] == TOO_LARGE
    assert flattened(usual, budget) == flattened(usual)
    assert work(lambda: [flattened(hostile, budget) for _ in range(1000)]) < 300_000
    assert budget.steps >= 0


def test_a_too_large_schema_keeps_its_root_and_notes_the_omission() -> None:
    hostile = HOSTILE["a shared pattern, shorter"]
    own = {
        "description": "Finds.",
        "properties": {"a": TEXT},
        "required": ["a"],
        "unevaluatedProperties": False,
    }

    assert flattened({**hostile, **own}) == (
        {
            "type": "object",
            "properties": {"a": TEXT},
            "required": ["a"],
            "description": "Finds.",
            "$defs": hostile["$defs"],
        },
        TOO_LARGE,
    )
    into = {"a": {"$ref": "#/oneOf/0", "description": "A."}, "b": True}
    assert flattened({**hostile, "properties": into})[0] == {
        "type": "object",
        "properties": {"a": {"description": "A."}, "b": {}},
    }


def test_a_schema_with_hundreds_of_forms_is_read() -> None:
    """A guard: the limits concern no usual tool."""
    forms = [
        {
            "title": f"Form {n}",
            "properties": {"kind": {"const": f"k{n}"}, **some(5), f"own{n}": TEXT},
            "required": ["kind"],
        }
        for n in range(200)
    ]
    flat, words = flattened({"oneOf": forms})

    assert len(flat["properties"]) == 206 and len(flat["properties"]["kind"]["enum"]) == 200
    assert words.endswith("more.")


members = st.sampled_from([TEXT, {"type": "integer"}, {"const": "a"}, {"enum": ["a", 1]}, {}])
others: dict[str, st.SearchStrategy[Any]] = {
    "patternProperties": st.dictionaries(
        st.sampled_from(["^d", "^[cd]", "^a"]), members, max_size=2
    ),
    "minProperties": st.integers(0, 3),
    "propertyNames": st.sampled_from([{"enum": ["a", "d"]}, {"maxLength": 1}]),
    "dependentRequired": st.just({"a": ["b"]}),
    "if": st.sampled_from(
        [{"required": ["a"]}, {"properties": {"d": {"const": "a"}}, "required": ["d"]}]
    ),
    "then": st.sampled_from([{"required": ["b"]}, {"properties": {"c": TEXT}}, False]),
    "else": st.sampled_from([{"required": ["c"]}, {"properties": {"d": TEXT}}]),
}
objects = st.fixed_dictionaries(
    {"properties": st.fixed_dictionaries(dict.fromkeys("abc", members))},
    optional={
        "type": st.just("object"),
        "required": st.lists(st.sampled_from("abc"), unique=True, max_size=2),
        "additionalProperties": st.sampled_from([True, False, TEXT]),
        **others,
    },
)
schemas = st.recursive(
    objects,
    lambda inner: st.sampled_from(
        [("oneOf", "anyOf"), ("anyOf", "allOf"), ("allOf", "oneOf")]
    ).flatmap(
        lambda keywords: st.fixed_dictionaries(
            {keywords[0]: st.lists(inner, min_size=1, max_size=3)},
            optional={
                "properties": st.dictionaries(st.sampled_from("abc"), members, max_size=3),
                keywords[1]: st.lists(inner, min_size=1, max_size=3),
                "required": st.lists(st.sampled_from("abc"), unique=True, max_size=2),
                "additionalProperties": st.sampled_from([True, False, TEXT]),
                "unevaluatedProperties": st.sampled_from([True, False, TEXT]),
                **others,
            },
        )
    ),
    max_leaves=6,
)
values = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["a", "b", 1, True]), max_size=4)


@given(schemas, values)
def test_whatever_the_client_permits_the_object_permits(schema: Schema, value: Any) -> None:
    """Each alternative declares all properties: one that does not permits any value of them, which
    nobody means.
    """
    flat, _ = flattened(schema)

    assert flat["type"] == "object" and isinstance(flat["properties"], dict)
    assert COMBINED.isdisjoint(flat)
    if not misfit(schema, json.dumps(value)):
        assert not misfit(flat, json.dumps(value))
