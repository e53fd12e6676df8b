"""Who goes away: the client in the middle of a stream, the model server under one, and the server
for a while.
"""

from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from antiphon.testing import assert_event_stream
from tests.system.model_servers.requests import FOR_EVER, raw_events, stream
from tests.system.model_servers.servers import LLAMA, ModelServer

pytestmark = pytest.mark.asyncio(loop_scope="session")

WITHOUT_END: Any = {"input": FOR_EVER, "max_output_tokens": 100_000}


async def begun(sdk: AsyncOpenAI, server: ModelServer) -> Any:
    """A stream that has told its first piece of text, and goes on for minutes."""
    events = await sdk.responses.create(model=server.kind.model, stream=True, **WITHOUT_END)
    async for event in events:
        if event.type == "response.output_text.delta":
            return events
    raise AssertionError("The stream ended without a word.")


async def test_a_client_that_leaves_frees_the_model(sdk: AsyncOpenAI, server: ModelServer) -> None:
    """Both servers answer one request after the other, so the second answer shows that the first
    has ended.
    """
    left = server.printed("Disconnected from client")
    events = await begun(sdk, server)
    await events.close()
    response = await sdk.with_options(timeout=20).responses.create(
        model=server.kind.model, input="Hello"
    )

    assert response.status == "completed"
    if server.kind is LLAMA:
        await server.prints("Disconnected from client", times=left + 1)


async def test_a_cancelled_background_response_frees_the_model(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    response = await sdk.responses.create(model=server.kind.model, background=True, **WITHOUT_END)
    while response.status == "queued":
        response = await sdk.responses.retrieve(response.id)
    cancelled = await sdk.responses.cancel(response.id)
    after = await sdk.with_options(timeout=20).responses.create(
        model=server.kind.model, input="Hello"
    )

    assert (cancelled.status, after.status) == ("cancelled", "completed")


async def test_a_server_that_dies_under_a_stream_fails_it_and_serves_again_once_it_is_back(
    front: str, sdk: AsyncOpenAI, server: ModelServer
) -> None:
    events = []
    async for event in raw_events(front, model=server.kind.model, **WITHOUT_END):
        events.append(event)
        if event["type"] == "response.output_text.delta" and server.is_running:
            await server.stop()
    assert_event_stream(events)
    assert events[-1]["type"] == "response.failed"
    assert events[-1]["response"]["error"]["code"] == "server_error"

    with pytest.raises(openai.InternalServerError) as caught:
        await sdk.responses.create(model=server.kind.model, input="Hello")
    assert str(server.port) not in caught.value.message

    await server.start()
    after = await stream(sdk, model=server.kind.model, input="Hello")
    assert after[-1]["type"] == "response.completed"
