"""A schema without what a backend's grammar does not take."""

import copy
from typing import Any

import pytest

from antiphon.translation.to_chat_completions.schemas import (
    ANY,
    GROUPS,
    groups_in,
    projected,
    schemas_in,
)

JOURNEY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "code": {"type": "string", "pattern": "[A-Z]{3}", "description": "The harbour."},
        "pattern": {"type": "string", "enum": ["pattern", "format"]},
        "stops": {
            "type": "array",
            "maxItems": 10_000,
            "items": {"type": "string", "format": "date", "pattern": "x"},
        },
        "next": {"$ref": "#/$defs/stop"},
    },
    "required": ["code", "pattern"],
    "$defs": {"stop": {"type": "integer", "minimum": 1}},
}


def test_only_the_keywords_of_a_lesson_go_at_any_depth_and_properties_of_their_name_stay() -> None:
    before = copy.deepcopy(JOURNEY)
    weaker = projected(JOURNEY, {"pattern"})

    assert before == JOURNEY
    assert weaker["properties"]["pattern"] == JOURNEY["properties"]["pattern"]
    assert weaker["properties"]["stops"]["items"] == {
        "type": "string",
        "format": "date",
        "description": 'Must fit {"pattern":"x"}.',
    }
    assert weaker["required"] == JOURNEY["required"]
    assert weaker["$defs"] == JOURNEY["$defs"]


def test_the_model_still_reads_what_the_grammar_does_not_hold_it_to() -> None:
    code = projected(JOURNEY, {"pattern"})["properties"]["code"]
    assert code == {
        "type": "string",
        "description": 'The harbour. Must fit {"pattern":"[A-Z]{3}"}.',
    }


def test_a_keyword_too_long_to_read_is_left_out() -> None:
    assert projected({"pattern": "x" * 1000}, {"pattern"}) == {}


def test_a_group_may_be_about_some_values_alone() -> None:
    schema = {
        "pattern": "^[0-9]{2}$",
        "maxLength": 500,
        "items": {"pattern": "^\\d{2}$", "maxLength": 501},
    }
    weaker = projected(schema, {"classes", "large"})
    assert (weaker["pattern"], weaker["maxLength"]) == ("^[0-9]{2}$", 500)
    assert set(weaker["items"]) == {"description"}


def test_references_go_with_what_they_point_to() -> None:
    weaker = projected(JOURNEY, {"references"})
    assert "$defs" not in weaker
    assert weaker["properties"]["next"] == {}


def test_the_last_lesson_leaves_names_and_descriptions() -> None:
    assert projected(JOURNEY, {"pattern", ANY}) == {
        "type": "object",
        "properties": {
            "code": {"description": "The harbour."},
            "pattern": {},
            "stops": {},
            "next": {},
        },
    }


def test_groups_of_keywords_are_dropped_in_order_until_nothing_is_left() -> None:
    learned: set[str] = set()
    order = []
    while used := groups_in([projected(JOURNEY, learned)]):
        order.append(used[0])
        learned.add(used[0])
    assert order == ["large", "anchors", "format", "numbers", "references", ANY]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_after_its_lesson_a_group_is_not_used_any_more(group: Any) -> None:
    value = {"classes": "^\\d$", "anchors": "x", "large": 501}.get(group.name, {})
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", **dict.fromkeys(group.keywords, value)}},
    }
    assert group.name in groups_in([schema])
    assert group.name not in groups_in([projected(schema, {group.name})])


@pytest.mark.wide
def test_a_schema_may_nest_as_deep_as_it_likes() -> None:
    schema: dict[str, Any] = {"pattern": "x"}
    for _ in range(50_000):
        schema = {"properties": {"a": schema}}
    assert groups_in([projected(schema, {"pattern"})]) == [ANY]


def test_the_schemas_of_a_request_are_those_of_its_tools_and_of_its_answer() -> None:
    first = {"title": "1"}
    second = {"title": "2"}
    third = {"title": "3"}
    tools = [
        {"type": "function", "function": {"name": "f", "parameters": first}},
        {"type": "function"},
    ]
    named = {"type": "json_schema", "json_schema": {"name": "a", "schema": second}}
    bare = {"type": "json_object", "schema": third}

    assert schemas_in({"tools": tools, "response_format": named}) == [first, second]
    assert schemas_in({"response_format": bare}) == [third]
    assert schemas_in({"response_format": {"type": "json_object"}}) == []
