"""Deferred tools are found by what is said of them."""

import json
import time
from typing import Any

import pytest

from antiphon.protocol.tools import NamespaceTool
from antiphon.protocol.validation.validate import decode_request
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.tool_mapping.offering import toolbox_of
from antiphon.translation.tool_mapping.search import search


def function(name: str, description: str = "", *parameters: str) -> dict[str, Any]:
    properties = {each: {"type": "string"} for each in parameters}
    schema = {"type": "object", "properties": properties}
    return {
        "type": "function",
        "name": name,
        "description": description,
        "parameters": schema,
        "defer_loading": True,
    }


TOOLS = [
    {"type": "tool_search"},
    function("get_weather", "Tells what the weather will be.", "city"),
    function("sendMail", "Sends a message to somebody.", "recipient", "subject"),
    {
        "type": "namespace",
        "name": "crm",
        "description": "Customers and orders.",
        "tools": [
            function("list_orders", "Lists what was bought."),
            function("find_customer", "Finds somebody."),
        ],
    },
]


def found(arguments: Any) -> list[str]:
    request = decode_request(json.dumps({"model": "m", "input": "x", "tools": TOOLS}).encode())
    deferred = toolbox_of(request, [], DIALECTS["generic"]).deferred
    names = []
    for tool in search(deferred, arguments):
        inner = tool.tools if isinstance(tool, NamespaceTool) else [tool]
        names += [each.name for each in inner]  # type: ignore[union-attr]
    return names


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("what is the weather in Brest", "get_weather"),
        ("send an email to the recipient", "sendMail"),
        ("mail", "sendMail"),
        ("order", "list_orders"),
        ("customers", "find_customer"),
        ("list_orders", "list_orders"),
    ],
)
def test_the_best_comes_first(query: str, first: str) -> None:
    assert found({"query": query})[0] == first


def test_a_namespaces_name_finds_all_of_it() -> None:
    assert sorted(found({"query": "crm"})) == ["find_customer", "list_orders"]


def test_no_more_than_requested_is_found() -> None:
    assert len(found({"query": "crm weather mail", "limit": 2})) == 2


@pytest.mark.parametrize(
    "arguments", [{"query": "zebra"}, {}, None, [], {"query": None}, {"query": 7, "limit": "x"}]
)
def test_where_nothing_fits_nothing_is_found(arguments: Any) -> None:
    assert found(arguments) == []


def test_other_arguments_are_words_too() -> None:
    assert found({"paths": ["crm"]}) != []


def test_a_query_of_a_thousand_words_costs_no_more_than_a_long_one() -> None:
    tools = [
        {"type": "tool_search"},
        *(function(f"tool_{n}", "Tells what the weather is.") for n in range(120)),
    ]
    request = decode_request(json.dumps({"model": "m", "input": "x", "tools": tools}).encode())
    deferred = toolbox_of(request, [], DIALECTS["generic"]).deferred * 20
    begun = time.process_time()
    search(deferred, {"query": " ".join(f"w{number}x" for number in range(50_000))})

    assert time.process_time() - begun < 2
