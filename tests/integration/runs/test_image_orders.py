"""Images that are made here come in the orders of the streams that were recorded of OpenAI, Azure
and xAI.
"""

import json
from itertools import groupby
from typing import Any

import pytest

from antiphon.protocol.stored_images import StoredImage
from antiphon.testing import assert_event_stream
from antiphon.tools.base import ToolOutcome, Use
from antiphon.tools.registry import Toolset
from tests.support.parts import called, query, scripted_parts, stated, stream
from tests.support.recordings import FOLDER, MISSING
from tests.unit.testing.events.recordings import read_sse

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=MISSING)

STREAMS = (
    "langchain.image_generation_streaming.sse",
    "vercel.openai-image-generation-tool.1.sse",
    "vercel.azure-image-generation-tool.1.sse",
    "vercel.xai-image-generation-tool.1.sse",
)
PLAIN = (
    *(
        "langchain.image_generation_multi_turn-0.json",
        "langchain.image_generation_multi_turn-1.json",
    ),
    *("pydantic-ai.image_generation_jpeg.json", "pydantic-ai.image_generation_with_tools-1.json"),
    *(
        "pydantic-ai.image_or_text_output-1.json",
        "pydantic-ai.image_generation_with_native_output.json",
    ),
    *(
        "pydantic-ai.image_generation_tool_without_image_output-0.json",
        "vercel.openai-image-generation-tool.1.json",
    ),
)

COMPLETED = "response.image_generation_call.completed"
WITHOUT_COMPLETED = frozenset({"vercel.azure-image-generation-tool.1.sse"})
"""Streams without that event, since it was added to the API later."""

NEWER = frozenset({"action"})
"""A field that items have since gpt-5.4."""

OTHER = {
    "vercel.xai-image-generation-tool.1.sse": {
        *("background", "output_format", "quality", "revised_prompt", "size"),  # only ours
        "prompt",  # only xAI's
    }
}
"""Fields in which another server's items differ; it also has `result: null` when the item opens."""


class Painter:
    """Makes the image of a recorded item."""

    def __init__(self, item: dict[str, Any], partial: int) -> None:
        self._item = item
        self._partial = partial

    def check(self, tool: Any, path: str = "tools") -> None:
        """Take everything."""

    async def run(self, use: Use) -> ToolOutcome:
        for index in range(self._partial):
            names = ("background", "output_format", "quality", "size")
            about = {name: self._item.get(name, "auto") for name in names}
            use.report({"partial_image_index": index, "partial_image_b64": "AA==", **about})
        names = ("background", "output_format", "quality", "result", "revised_prompt", "size")
        fields = {name: self._item.get(name, "auto") for name in names}
        return ToolOutcome("Made image 1.", {**fields, "kept": StoredImage("", 1)})

    async def close(self) -> None:
        """There is nothing to close."""


def read_json(name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((FOLDER / "hosted" / name).read_text("utf-8"))
    return value


def order(
    events: list[dict[str, Any]], kinds: tuple[str, ...] = ("image_generation_call", "message")
) -> list[str]:
    """The types of the events of images and messages, deltas that follow each other as one."""
    items = {event["output_index"]: event["item"]["type"] for event in events if "item" in event}
    reported = [
        event["type"]
        for event in events
        if items.get(event.get("output_index", -1), kinds[0]) in kinds
    ]
    return [kind for kind, _ in groupby(reported)]


def image_fields(events: list[dict[str, Any]]) -> dict[str, set[str]]:
    """The fields of an image's item when it opens and when it is done."""
    return {
        event["type"]: set(event["item"])
        for event in events
        if event.get("item", {}).get("type") == "image_generation_call"
    }


@pytest.mark.parametrize("name", STREAMS)
async def test_a_stream_has_the_recorded_order_and_fields(name: str) -> None:
    recorded = read_sse(FOLDER / "hosted" / name)
    done = [event["item"] for event in recorded if event["type"] == "response.output_item.done"]
    image = next(item for item in done if item["type"] == "image_generation_call")
    partial = sum(event["type"].endswith("partial_image") for event in recorded)
    words = [event["delta"] for event in recorded if event["type"] == "response.output_text.delta"]
    created, _ = scripted_parts(called("image_generation", '{"prompt": "x"}'), stated(*words))
    created.run.toolset = Toolset(images=Painter(image, partial))

    events = await stream(created, tools=[{"type": "image_generation"}])

    assert_event_stream(events)
    ours = [kind for kind in order(events) if kind != COMPLETED or name not in WITHOUT_COMPLETED]
    theirs = order(recorded)
    if (
        not words
    ):  # the model says nothing more: OpenAI shows an empty message then, and we show none
        ended_at = theirs.index("response.output_item.done") + 1
        ours = ours[:ended_at]
        theirs = theirs[:ended_at]
    assert ours == theirs
    found = image_fields(events)
    expected = image_fields(recorded)
    added = "response.output_item.added"
    ended = "response.output_item.done"
    assert found[added] == expected[added] - {"result"} == {"id", "type", "status"}
    assert (found[ended] - NEWER) ^ expected[ended] == OTHER.get(name, set())


@pytest.mark.parametrize("name", PLAIN)
async def test_a_plain_response_has_the_recorded_items_and_echo(name: str) -> None:
    recorded = read_json(name)
    image = next(item for item in recorded["output"] if item["type"] == "image_generation_call")
    provided = {key: value for key, value in recorded["tools"][-1].items() if key != "n"}
    created, _ = scripted_parts(called("image_generation", '{"prompt": "x"}'), stated("Done."))
    created.run.toolset = Toolset(images=Painter(image, 0))

    response = await query(created, tools=[provided])

    ours = response["output"][0]
    assert set(ours) - NEWER == set(image) - NEWER
    assert {key: ours[key] for key in image if key != "id"} == {
        key: image[key] for key in image if key != "id"
    }
    assert response["tools"] == [recorded["tools"][-1]]
