"""Image generation: items and events of calls, edits, and images in later turns."""

import base64
import binascii
import json
from dataclasses import replace
from typing import Any

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.case import Case, case
from antiphon_verify.exchange import Exchange
from antiphon_verify.reading import at, is_integer, is_text, listed, preview
from antiphon_verify.replies import error
from antiphon_verify.replies.responses import image_generation as replies
from antiphon_verify.replies.responses.image_generation import TOOL, Item
from antiphon_verify.requirement import Requirement, Stop, must, should
from antiphon_verify.samples import spelled
from antiphon_verify.trial import ExchangeSteps, Steps, Trial

DRAW = spelled("Draw a red square.", f"image_generation {json.dumps({'prompt': 'a red square'})}")

EDIT = spelled(
    "Make it blue.", f"image_generation {json.dumps({'prompt': 'make it blue', 'action': 'edit'})}"
)

MAGIC = {
    "png": b"\x89PNG\r\n\x1a\n",
    "jpeg": b"\xff\xd8\xff",
    "gif": b"GIF8",
    "webp": b"RIFF",
    "svg": b"<",
}
"""First bytes of an image, by its format."""

PREFIX = "response.image_generation_call."


def draw(trial: Trial, prompt: Any = DRAW, tool: Item = TOOL, **parameters: Any) -> ExchangeSteps:
    """Generate an image."""
    return trial.respond(prompt, tools=[tool], **parameters)


def format_of(text: Any) -> str:
    """Return the format of an image in base64; empty if it is not an image."""
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except binascii.Error:
        return ""
    return next((name for name, magic in MAGIC.items() if data.startswith(magic)), "")


def images_of(response: Any) -> list[Item]:
    """Return the calls of a response. Ends the case without calls, and if all failed."""
    found = [
        item for item in listed(response, "output") if at(item, "type") == "image_generation_call"
    ]
    if not found:
        raise Stop("skipped", "No image was generated.")
    return found


def image_in(trial: Trial, exchange: Exchange) -> Item:
    """Return the image of a response. Ends the case for a response without an image."""
    trial.offered(exchange)
    return images_of(trial.response(exchange))[-1]


@case(
    must(
        "responses:image-generation:item",
        "spec 5",
        "A call is a completed `image_generation_call`; its `result` is an image in base64.",
        fault=replies.streamed(replies.CALL | {"result": replies.NEITHER}),
    ),
    should(
        "responses:image-generation:format",
        "spec 5",
        "The image in `result` has the requested `output_format`.",
        fault=replies.streamed(replies.CALL | {"output_format": "webp"}),
    ),
    should(
        "responses:image-generation:used",
        "spec 5",
        "A call has the `size`, `quality` and `background` that were used.",
        fault=replies.streamed(replies.CALL | {"size": "auto"}),
    ),
    must(
        "responses:image-generation:opened",
        "spec 4",
        "A call starts as `in_progress`, without a result.",
        fault=replies.streamed(opened=replies.OPENED | {"result": replies.PNG}),
    ),
    should(
        "responses:image-generation:partial",
        "spec 4",
        "Partial images are numbered from 0, have an image in base64, and arrive before the call "
        "is completed.",
        fault=replies.streamed(partial=replies.PARTIAL | {"partial_image_index": 1}),
    ),
    must(
        "responses:image-generation:goes-on",
        "spec 16",
        "After an image a response continues to its end.",
        fault=replies.streamed(status="incomplete"),
    ),
    should(
        "responses:image-generation:usage",
        "spec 3",
        "`tool_usage.image_gen` has token counts.",
        fault=replies.streamed(tool_usage=None),
    ),
    should(
        "responses:image-generation:stored",
        "spec 10",
        "A stored response contains the generated image.",
        fault=[replies.streamed()[0], replies.with_output(replies.CALL | {"result": None})],
    ),
    should(
        "responses:image-generation:echoed",
        "spec 6",
        "The tool is echoed with its options.",
        fault=replies.streamed(tools=[TOOL]),
    ),
    good=replies.streamed(),
)
def an_image_is_generated(trial: Trial) -> Steps:
    """Generate an image in a stream, with a partial image, and retrieve the response."""
    tool = TOOL | {"partial_images": 1, "size": "1024x1024"}
    exchange = yield from draw(trial, tool=tool, stream=True)
    events = trial.streamed(exchange)
    trial.offered(exchange)
    response = at(events, -1, "response")
    image = images_of(response)[-1]
    is_whole = (
        at(image, "status") == "completed"
        and is_text(at(image, "id"))
        and bool(format_of(at(image, "result")))
    )
    trial.expect("responses:image-generation:item", is_whole, preview(image))
    named = at(image, "output_format")
    trial.expect(
        "responses:image-generation:format", named == format_of(at(image, "result")), named
    )
    values = [at(image, key) for key in ("size", "quality", "background")]
    is_named = values[0] == "1024x1024" and all(map(is_text, values)) and "auto" not in values
    trial.expect("responses:image-generation:used", is_named, values)
    trial.expect(
        "responses:image-generation:goes-on",
        at(response, "status") == "completed",
        at(response, "status"),
    )
    counts = [
        at(response, "tool_usage", "image_gen", key)
        for key in ("input_tokens", "output_tokens", "total_tokens")
    ]
    trial.expect("responses:image-generation:usage", all(map(is_integer, counts)), counts)
    echoed = at(response, "tools", 0)
    is_echoed = [at(echoed, key) for key in tool] == list(tool.values())
    trial.expect("responses:image-generation:echoed", is_echoed, preview(echoed))
    _judge_events(trial, events)
    stored = yield from trial.get(f"/responses/{id_of(response)}")
    is_same = at(images_of(stored.json)[-1], "result") == at(image, "result")
    trial.expect("responses:image-generation:stored", is_same, stored.came)


def _judge_events(trial: Trial, events: list[Any]) -> None:
    """Judge the first event of the call, and its partial images if there are any."""
    added = (at(one, "item") for one in events if at(one, "type") == "response.output_item.added")
    opened = [one for one in added if at(one, "type") == "image_generation_call"]
    is_open = [at(one, "status") for one in opened] == ["in_progress"] and not at(
        opened, 0, "result"
    )
    trial.expect("responses:image-generation:opened", is_open, preview(opened))
    words = [str(at(one, "type")).removeprefix(PREFIX) for one in events]
    partial = [one for one in events if at(one, "type") == f"{PREFIX}partial_image"]
    if partial:
        numbers = [at(one, "partial_image_index") for one in partial]
        are_images = all(format_of(at(one, "partial_image_b64")) for one in partial)
        is_before = (
            "completed" in words and "partial_image" not in words[words.index("completed") :]
        )
        is_right = numbers == list(range(len(partial))) and are_images and is_before
        trial.expect("responses:image-generation:partial", is_right, numbers)


@case(
    must(
        "responses:image-generation:chained",
        "spec 10",
        "The next turn can edit the image: with `previous_response_id`, it edits the latest image.",
        fault=[replies.DRAWN, replies.NO_IMAGE, replies.DRAWN, replies.DRAWN],
    ),
    should(
        "responses:image-generation:by-id",
        "spec 5",
        "An input item with the type and the id of a stored image refers to the image.",
        fault=[replies.DRAWN, replies.DRAWN, error("Item not found.", 404), replies.DRAWN],
    ),
    must(
        "responses:image-generation:replayed",
        "spec 5",
        "A call with its `result` is accepted as input.",
        fault=[replies.DRAWN, replies.DRAWN, replies.DRAWN, error("Unknown item.")],
    ),
    good=[replies.DRAWN, replies.DRAWN, replies.DRAWN, replies.DRAWN],
)
def an_image_is_edited(trial: Trial) -> Steps:
    """Generate an image, and edit it: by the response, by the image's id, and by the whole item."""
    first = yield from draw(trial)
    image = image_in(trial, first)
    if not format_of(at(image, "result")):
        raise Stop("skipped", "No image was generated.")
    tool = TOOL | {"action": "edit"}
    chained = yield from draw(trial, EDIT, tool, previous_response_id=id_of(first.json))
    trial.expect("responses:image-generation:chained", _is_edited(chained), chained.came)
    reference = {"type": "image_generation_call", "id": at(image, "id")}
    named = yield from draw(trial, [_user(DRAW), reference, _user(EDIT)], tool)
    trial.expect("responses:image-generation:by-id", _is_edited(named), named.came)
    replayed = yield from draw(trial, [_user(DRAW), image, _user(EDIT)], tool)
    trial.expect("responses:image-generation:replayed", _is_edited(replayed), replayed.came)


def _user(text: str) -> Item:
    return {"role": "user", "content": text}


def _is_edited(exchange: Exchange) -> bool:
    """Whether the response has an edited image, or the model answered with text instead."""
    items = [
        one for one in listed(exchange.json, "output") if at(one, "type") == "image_generation_call"
    ]
    is_whole = all(format_of(at(one, "result")) for one in items)
    return exchange.is_ok and at(exchange.json, "status") == "completed" and is_whole


@case(
    should(
        "responses:image-generation:edit-nothing",
        "spec 6",
        "With `action: edit` and no image in the conversation, the request is rejected "
        "or the call fails.",
        fault=[replies.DRAWN],
    ),
    good=[replies.REJECTED],
)
def nothing_is_edited(trial: Trial) -> Steps:
    """Request an edit in a conversation without an image."""
    exchange = yield from draw(trial, EDIT, TOOL | {"action": "edit"})
    trial.understood(exchange)
    items = [
        one for one in listed(exchange.json, "output") if at(one, "type") == "image_generation_call"
    ]
    if exchange.is_ok and not items:
        raise Stop("skipped", "No image was generated.")
    has_failed = bool(items) and all(at(one, "status") == "failed" for one in items)
    trial.expect(
        "responses:image-generation:edit-nothing",
        has_failed or 400 <= exchange.status < 500,
        exchange.came,
    )


@case(
    should(
        "responses:image-generation:chosen",
        "spec 6",
        "With a `tool_choice` of `image_generation` the model makes a call.",
        fault=[replies.TALKED],
    ),
    good=[replies.DRAWN],
)
def an_image_is_demanded(trial: Trial) -> Steps:
    """Force a call."""
    exchange = yield from draw(trial, tool_choice=TOOL)
    trial.offered(exchange)
    kinds = [at(item, "type") for item in listed(trial.response(exchange), "output")]
    trial.expect("responses:image-generation:chosen", "image_generation_call" in kinds, kinds)


def rejected(requirement: Requirement, **options: Any) -> Case:
    """Return the case that sends invalid options, after a request that shows that the tool is
    offered.
    """
    row = replace(requirement, fault=[replies.TALKED, replies.TALKED])
    name = row.id.rpartition(":")[2]

    def script(trial: Trial) -> Steps:
        plain = yield from trial.respond("Say hello.", tools=[TOOL])
        trial.offered(plain)
        exchange = yield from trial.respond("Say hello.", tools=[TOOL | options])
        trial.expect(row.id, 400 <= exchange.status < 500, exchange.came)

    script.__doc__ = f"Offer image generation with an invalid option: {name}."
    good = [replies.TALKED, error("Invalid value.")]
    return Case(f"image_generation_{name.replace('-', '_')}", (row,), script, good=good)


REFUSING = (
    rejected(
        should(
            "responses:image-generation:partial-images",
            "spec 13",
            "A `partial_images` above 3 is rejected with a 4xx.",
        ),
        partial_images=4,
    ),
    rejected(
        should(
            "responses:image-generation:quality",
            "spec 13",
            "An unknown `quality` is rejected with a 4xx.",
        ),
        quality="splendid",
    ),
    rejected(
        should(
            "responses:image-generation:format-unknown",
            "spec 13",
            "An unknown `output_format` is rejected with a 4xx.",
        ),
        output_format="bmp",
    ),
)


@case(
    should(
        "responses:image-generation:endpoint",
        "spec 18",
        "`/images/generations` returns an image, as base64 or as a URL.",
        fault=[replies.GENERATED.patched("data", 0, to={})],
    ),
    good=[replies.GENERATED],
)
def the_images_endpoint_answers(trial: Trial) -> Steps:
    """Generate an image by the images endpoint, with the server's default model."""
    exchange = yield from trial.post("/images/generations", {"prompt": "a red square"})
    trial.supported(exchange)
    if 400 <= exchange.status < 500:
        raise Stop("skipped", f"The endpoint requires a model: {exchange.came}")
    data = listed(exchange.json, "data")
    are_images = all(format_of(at(one, "b64_json")) or is_text(at(one, "url")) for one in data)
    trial.expect(
        "responses:image-generation:endpoint",
        exchange.is_ok and bool(data) and are_images,
        exchange.came,
    )
