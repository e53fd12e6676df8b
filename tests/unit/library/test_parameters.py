"""The keyword arguments of the library are the parameters of the API, no more and no fewer."""

from typing import Any

import pytest

from antiphon.library.parameters import (
    CompactParameters,
    CountParameters,
    InputPageParameters,
    ResponseParameters,
    as_query,
)
from antiphon.protocol.items.content import NotServed
from antiphon.protocol.requests import CompactRequest, CreateResponse
from antiphon.protocol.resources import CountInputTokens, InputItemsQuery

OWN = {"extra_body"}
"""What the library has besides."""

OTHERWISE = {"stream"}
"""What a method has as an argument of its own."""


def served(request: Any) -> set[str]:
    """The fields of a request, but for those that this server rejects by name."""
    return {name for name, kind in request.__annotations__.items() if kind != NotServed} - OTHERWISE


@pytest.mark.parametrize(
    ("parameters", "request_type"),
    [
        (ResponseParameters, CreateResponse),
        (CompactParameters, CompactRequest),
        (InputPageParameters, InputItemsQuery),
    ],
)
def test_the_names_are_those_of_the_api(parameters: Any, request_type: Any) -> None:
    names = parameters.__required_keys__ | parameters.__optional_keys__
    assert names - OWN == served(request_type)


def test_the_names_of_a_count_are_those_of_the_api() -> None:
    assert CountParameters.__required_keys__ | CountParameters.__optional_keys__ == {
        *CountInputTokens.__struct_fields__
    }


@pytest.mark.parametrize(
    ("parameters", "query"),
    [
        ({"after": "msg_1", "limit": 5}, {"after": ["msg_1"], "limit": ["5"]}),
        ({"after": None, "include": ["a", "b"]}, {"include": ["a", "b"]}),
        ({}, {}),
    ],
)
def test_parameters_of_a_list_are_a_query(parameters: Any, query: Any) -> None:
    assert as_query(parameters) == query
