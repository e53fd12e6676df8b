"""Every number that a client can send has a bound on both sides (threat 32)."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from antiphon.errors import ClientError
from antiphon.protocol.passthrough import ChatCompletionRequest, EmbeddingsRequest
from antiphon.protocol.requests import CompactRequest, CreateResponse
from antiphon.protocol.resources import (
    AddItems,
    CompletionMessagesQuery,
    CompletionsQuery,
    CountInputTokens,
    CreateConversation,
    EndpointsQuery,
    InputItemsQuery,
    StreamQuery,
    UpdateConversation,
)
from antiphon.protocol.validation.validate import read_request

BODIES = [
    *(
        CreateResponse,
        CompactRequest,
        CountInputTokens,
        CreateConversation,
        AddItems,
        UpdateConversation,
    ),
    *(ChatCompletionRequest, EmbeddingsRequest, InputItemsQuery, StreamQuery, EndpointsQuery),
    *(CompletionsQuery, CompletionMessagesQuery),
]


def numbers(node: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The numbers in a JSON Schema."""
    if isinstance(node, dict):
        if node.get("type") in ("integer", "number"):
            yield path, node
        for key, child in node.items():
            yield from numbers(child, f"{path}/{key}")
    elif isinstance(node, list):
        for i, child in enumerate(node):
            yield from numbers(child, f"{path}/{i}")


def test_every_number_of_a_request_is_bounded_both_ways() -> None:
    _, components = msgspec.json.schema_components(BODIES)
    found = dict(numbers(components, ""))

    assert len(found) > 20
    assert {
        path for path, number in found.items() if not {"minimum", "maximum"} <= number.keys()
    } == set()


@pytest.mark.parametrize(
    ("number", "code"), [(-1, "integer_below_min_value"), (10**30, "integer_above_max_value")]
)
def test_a_number_of_a_tool_out_of_its_bounds_is_refused(number: int, code: str) -> None:
    tool = {"type": "file_search", "vector_store_ids": ["vs_1"], "max_num_results": number}
    with pytest.raises(ClientError) as caught:
        read_request({"model": "m", "input": "x", "tools": [tool]})
    assert (caught.value.code, caught.value.param) == (code, "tools[0].max_num_results")
