"""Images that the server generates."""

from typing import Any

from antiphon_verify.areas.responses import image_generation as image
from antiphon_verify.samples import png
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown, spoiled, streams
from tests.unit.conformance.exchanges.bodies import MESSAGE, RESPONSE

Item = dict[str, Any]

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
FAILED = OPENED | {"status": "failed", "result": None, "error": {"type": "server_error", "message": "No image."}}
COUNTS = {"input_tokens": 5, "output_tokens": 9, "total_tokens": 14}
TOOL = image.TOOL | {"partial_images": 1, "size": "1024x1024"}


def body(*items: Item, **fields: Any) -> dict[str, Any]:
    return RESPONSE | {"output": [*items, MESSAGE], "tools": [TOOL], "tool_usage": {"image_gen": COUNTS}, **fields}


def gave(*items: Item, **fields: Any) -> Answer:
    return says(body(*items, **fields))


def step(name: str, **fields: Any) -> Item:
    return {"type": f"response.image_generation_call.{name}", "output_index": 0, "item_id": "ig_1", **fields}


PARTIAL = step("partial_image", partial_image_index=0, partial_image_b64=PNG)


def streamed(call: Item = CALL, opened: Item = OPENED, partial: Item = PARTIAL, **fields: Any) -> list[Answer]:
    """The stream of a response with an image, and the stored response."""
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": opened},
        *(step("in_progress"), step("generating"), partial, step("completed")),
        {"type": "response.output_item.done", "output_index": 0, "item": call},
        {"type": "response.completed", "response": body(call, **fields)},
    ]
    return [streams(events), gave(CALL)]


DRAWN, TALKED = gave(CALL), gave()
REFUSED = error("There is no image to edit.", 400, "invalid_value", "tools[0].action")
GENERATED = says({"created": 1_790_000_000, "data": [{"b64_json": PNG}]})
NO_IMAGE = gave(CALL | {"result": NEITHER})

EXCHANGES: dict[str, Shown] = {
    **shown(
        image.an_image_is_generated,
        streamed(),
        {
            "responses:image-generation:item": streamed(CALL | {"result": NEITHER}),
            "responses:image-generation:format": streamed(CALL | {"output_format": "webp"}),
            "responses:image-generation:used": streamed(CALL | {"size": "auto"}),
            "responses:image-generation:opened": streamed(opened=OPENED | {"result": PNG}),
            "responses:image-generation:partial": streamed(partial=PARTIAL | {"partial_image_index": 1}),
            "responses:image-generation:goes-on": streamed(status="incomplete"),
            "responses:image-generation:usage": streamed(tool_usage=None),
            "responses:image-generation:echoed": streamed(tools=[image.TOOL]),
            "responses:image-generation:stored": [streamed()[0], gave(CALL | {"result": None})],
        },
    ),
    **shown(
        image.an_image_is_edited,
        [DRAWN, DRAWN, DRAWN, DRAWN],
        {
            "responses:image-generation:chained": [DRAWN, NO_IMAGE, DRAWN, DRAWN],
            "responses:image-generation:by-id": [DRAWN, DRAWN, error("Item not found.", 404), DRAWN],
            "responses:image-generation:replayed": [DRAWN, DRAWN, DRAWN, error("Unknown item.")],
        },
    ),
    **spoiled(image.nothing_is_edited, [REFUSED], [DRAWN]),
    **spoiled(image.an_image_is_demanded, [DRAWN], [TALKED]),
    **{
        name: one
        for case in image.REFUSING
        for name, one in spoiled(case, [TALKED, error("Invalid value.")], [TALKED, TALKED]).items()
    },
    **spoiled(image.the_images_endpoint_is_served, [GENERATED], [GENERATED.patched("data", 0, to={})]),
}
