"""Images that the server generates."""

from typing import Any

from antiphon_verify.replies import Reply, error, states, streams
from antiphon_verify.replies.bodies import MESSAGE, RESPONSE
from antiphon_verify.samples import png

Item = dict[str, Any]

TOOL: Item = {"type": "image_generation"}


PNG = png("red").partition(",")[2]
NEITHER = "Tm8gaW1hZ2U="

CALL: Item = {
    "id": "ig_1",
    "type": "image_generation_call",
    "status": "completed",
    "result": PNG,
    "size": "1024x1024",
    "quality": "high",
    "background": "opaque",
    "output_format": "png",
}
OPENED = {"id": "ig_1", "type": "image_generation_call", "status": "in_progress"}
COUNTS = {"input_tokens": 5, "output_tokens": 9, "total_tokens": 14}
DRAWING = TOOL | {"partial_images": 1, "size": "1024x1024"}


def body(*items: Item, **fields: Any) -> dict[str, Any]:
    """Return the body of a response with these items and a message."""
    return RESPONSE | {
        "output": [*items, MESSAGE],
        "tools": [DRAWING],
        "tool_usage": {"image_gen": COUNTS},
        **fields,
    }


def with_output(*items: Item, **fields: Any) -> Reply:
    """Return a response with these items and a message."""
    return states(body(*items, **fields))


def step(name: str, **fields: Any) -> Item:
    """Return a step of the image."""
    return {
        "type": f"response.image_generation_call.{name}",
        "output_index": 0,
        "item_id": "ig_1",
        **fields,
    }


PARTIAL = step("partial_image", partial_image_index=0, partial_image_b64=PNG)


def streamed(
    call: Item = CALL, opened: Item = OPENED, partial: Item = PARTIAL, **fields: Any
) -> list[Reply]:
    """Return the stream of a response with an image, and the stored response."""
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": opened},
        *(step("in_progress"), step("generating"), partial, step("completed")),
        {"type": "response.output_item.done", "output_index": 0, "item": call},
        {"type": "response.completed", "response": body(call, **fields)},
    ]
    return [streams(events), with_output(CALL)]


DRAWN = with_output(CALL)
TALKED = with_output()
REJECTED = error("There is no image to edit.", 400, "invalid_value", "tools[0].action")
GENERATED = states({"created": 1_790_000_000, "data": [{"b64_json": PNG}]})
NO_IMAGE = with_output(CALL | {"result": NEITHER})
