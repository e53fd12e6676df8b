"""What the tests of several files ask for, and how."""

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
from openai import AsyncOpenAI

from antiphon.testing import assert_event_stream, fold

Event = dict[str, Any]

PLACE: dict[str, Any] = {
    "type": "object",
    "properties": {"place": {"type": "string"}},
    "required": ["place"],
    "additionalProperties": False,
}
TIDE_AT: Any = {
    "type": "function",
    "name": "tide_at",
    "description": "Tell when the tide is high.",
    "parameters": PLACE,
    "strict": True,
}
FOR_EVER = "Speak for ever."
"""Both models take this at its word."""


async def stream(sdk: AsyncOpenAI, **body: Any) -> list[Event]:
    """Stream a response; its events, which are sound and fold into the last one's response."""
    events = [
        event.to_dict(warnings=False)
        async for event in await sdk.responses.create(stream=True, **body)
    ]
    assert_event_stream(events)
    assert fold(events) == events[-1]["response"]
    return events


async def raw_events(url: str, **body: Any) -> AsyncIterator[Event]:
    """Stream a response as it comes; the SDK raises an exception where it fails."""
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{url}/responses", json=body | {"stream": True}) as answer,
    ):
        async for line in answer.content:
            if line.startswith(b"data: {"):
                yield json.loads(line.removeprefix(b"data: "))


def text_of(response: dict[str, Any]) -> str:
    """The text of a response's messages."""
    messages = [item for item in response["output"] if item["type"] == "message"]
    return "".join(part["text"] for message in messages for part in message["content"])


def deltas_of(events: list[Event]) -> str:
    """The pieces of text that were streamed, together."""
    return "".join(
        event["delta"] for event in events if event["type"] == "response.output_text.delta"
    )
