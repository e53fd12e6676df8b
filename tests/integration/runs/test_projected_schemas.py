"""A backend that can make no grammar of a schema receives a weaker one, and is spared the other
from then on.
"""

import json
from typing import Any

import pytest

from antiphon.errors import ClientError
from tests.support.parts import called, plain, query, scripted_parts, stream
from tests.support.replay import delta

TOOL = {
    "type": "function",
    "name": "look",
    "parameters": {
        "type": "object",
        "properties": {"at": {"type": "string", "pattern": "\\S", "format": "uri"}},
    },
}
SAMPLERS = (
    400,
    {"error": {"code": 400, "message": "Failed to initialize samplers: failed to parse grammar"}},
)
"""llama.cpp#25895."""


def sent(request: dict[str, Any]) -> dict[str, Any]:
    parameters: dict[str, Any] = request["tools"][0]["function"]["parameters"]["properties"]["at"]
    return parameters


async def test_a_rejected_schema_is_sent_weaker_and_later_requests_begin_with_that() -> None:
    created, backend = scripted_parts(
        SAMPLERS, SAMPLERS, called(arguments='{"at": "x"}'), called(arguments='{"at": "y"}')
    )
    for _ in range(2):
        await query(created, tools=[TOOL])

    keys = [sorted(set(sent(request)) & {"pattern", "format"}) for request in backend.requests]
    assert keys == [["format", "pattern"], ["format"], [], []]
    assert created.models.backends[0].targets["m"].lessons.refused == {
        "schema:classes",
        "schema:format",
    }


async def test_the_end_of_an_empty_answer_teaches_the_same() -> None:
    broken = [{"error": {"message": "Failed to initialize samplers: failed to parse grammar"}}]
    created, backend = scripted_parts(broken, called(arguments='{"at": "x"}'))
    events = await stream(created, tools=[TOOL])

    assert events[-1]["type"] == "response.completed"
    assert "pattern" not in sent(backend.requests[1])


async def test_a_backend_without_schema_support_receives_the_schema_in_words() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    rejected = (400, {"error": "invalid JSON schema in format"})
    created, backend = scripted_parts(rejected, plain('{"n": 1}'))
    await query(created, text={"format": {"type": "json_schema", "name": "n", "schema": schema}})

    assert backend.requests[1]["response_format"] == {"type": "json_object"}
    assert (
        json.dumps(schema, separators=(",", ":")) in backend.requests[1]["messages"][0]["content"]
    )


async def test_a_services_error_about_a_schema_reaches_its_client_if_the_plainest_one_does_not_help() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    created, backend = scripted_parts(SAMPLERS, SAMPLERS, dialect="openai")
    with pytest.raises(ClientError, match="failed to parse grammar"):
        await query(created, tools=[TOOL])
    assert len(backend.requests) == 2


async def test_an_error_that_stays_is_reported_once_nothing_is_left_to_give_up() -> None:
    created, backend = scripted_parts(*[SAMPLERS] * 9)
    with pytest.raises(ClientError, match="failed to parse grammar"):
        await query(created, tools=[TOOL])
    assert len(backend.requests) == 5  # three lessons, and the plainest form
    assert sent(backend.requests[-1]) == {}


async def test_words_of_a_schema_error_in_an_answer_that_has_begun_teach_nothing() -> None:
    created, backend = scripted_parts(
        [delta(content="So"), {"error": {"message": "failed to parse grammar"}}]
    )
    events = await stream(created, tools=[TOOL])
    assert events[-1]["type"] == "response.failed"
    assert len(backend.requests) == 1
