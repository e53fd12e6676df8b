"""A message reports why the prompt cache could not reuse the prompt of an earlier one."""

from typing import Any

import pytest

from antiphon.config import Settings
from antiphon.upstream.http import HttpBackend
from tests.support.messages_requests import assistant, tool, user
from tests.support.messages_server import post, stream
from tests.support.messages_stream import fold
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer, serve

FIRST: dict[str, Any] = {
    "system": "Be kind.",
    "tools": [tool()],
    "messages": [user("a " * 200), assistant("b"), user("c")],
    "diagnostics": {"previous_message_id": None},
}
LONGER = [*FIRST["messages"], assistant("d"), user("e")]


async def send(server: RunningServer, *, is_stream: bool = False, **fields: Any) -> Any:
    """The answer, plain or streamed."""
    if is_stream:
        return fold(await stream(server, **fields))
    answered = await post(server, **fields)
    assert answered.status == 200, answered.body
    return answered.body


def serving(backend: ReplayBackend, dialect: str = "llamacpp", *, compares: bool = True) -> Any:
    settings = Settings(compare_prompts=compares)
    return serve(HttpBackend("r", backend.url), dialects={"r": dialect}, settings=settings)


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"messages": LONGER}, None),
        ({"messages": LONGER, "system": "Be brief."}, "system_changed"),
        ({"messages": LONGER, "tools": [tool("g")]}, "tools_changed"),
        ({"messages": LONGER, "tools": None}, "tools_changed"),
        ({"messages": [user("x"), *LONGER[1:]]}, "messages_changed"),
        ({"messages": [user("x"), *LONGER[1:]], "system": None}, "system_changed"),
        ({"messages": FIRST["messages"][:1]}, "messages_changed"),
    ],
)
async def test_the_first_difference_of_two_prompts_is_the_reason(
    backend: ReplayBackend, changes: dict[str, Any], reason: str | None, *, is_stream: bool
) -> None:
    async with serving(backend) as server:
        first = await send(server, is_stream=is_stream, **FIRST)
        fields = {**FIRST, "diagnostics": {"previous_message_id": first["id"]}, **changes}
        second = await send(server, is_stream=is_stream, **fields)

    assert first["diagnostics"] is None
    found = second["diagnostics"]
    if reason is None:
        assert found is None
        return
    assert found["cache_miss_reason"]["type"] == reason
    missed = found["cache_miss_reason"]["cache_missed_input_tokens"]
    assert (missed > 0) or reason == "messages_changed"


async def test_another_model_and_an_unknown_message_are_reasons(backend: ReplayBackend) -> None:
    backend.models.append({"id": "other"})
    async with serving(backend) as server:
        first = await send(server, **FIRST)
        other = {**FIRST, "diagnostics": {"previous_message_id": first["id"]}, "model": "other"}
        unknown = {**FIRST, "diagnostics": {"previous_message_id": "msg_0"}}
        found = [(await send(server, **fields))["diagnostics"] for fields in (other, unknown)]

    reasons = [one["cache_miss_reason"] for one in found]
    assert [one["type"] for one in reasons] == ["model_changed", "previous_message_not_found"]
    assert reasons[0]["cache_missed_input_tokens"] > 0


@pytest.mark.parametrize(("dialect", "compares"), [("openai", True), ("llamacpp", False)])
async def test_a_prompt_that_is_not_compared_is_unavailable(
    backend: ReplayBackend, dialect: str, *, compares: bool
) -> None:
    async with serving(backend, dialect, compares=compares) as server:
        first = await send(server, **FIRST)
        fields = {**FIRST, "diagnostics": {"previous_message_id": first["id"]}}
        found = (await send(server, **fields))["diagnostics"]

    assert found == {"cache_miss_reason": {"type": "unavailable"}}


async def test_without_diagnostics_an_answer_has_none(server: RunningServer) -> None:
    assert "diagnostics" not in await send(server)
    assert "diagnostics" not in await send(server, is_stream=True)
