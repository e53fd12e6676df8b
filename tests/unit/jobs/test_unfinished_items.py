"""Items that a background response leaves open: closed as far as they were received, and no
further.
"""

from typing import Any

import msgspec

from antiphon.jobs.unfinished_items import UnfinishedItem
from antiphon.protocol.response import Response
from antiphon.translation.writer import ResponseWriter

PLACE = {"output_index": 0, "item_id": "msg_1"}
PART = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
CITED = {
    "type": "url_citation",
    "url": "https://example.org",
    "title": "",
    "start_index": 0,
    "end_index": 4,
}
LOGPROB = {"token": "Once", "logprob": -0.5, "bytes": [79], "top_logprobs": []}


def message(**more: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "in_progress",
        "content": [],
        **more,
    }


def closed(
    item: dict[str, Any], *logged: dict[str, Any]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """An item, after these events, as it is closed, and the events that close it."""
    numbers = iter(range(1, 1000))
    response = msgspec.convert(
        {"id": "resp_1", "created_at": 1, "model": "m"}, Response, strict=False
    )
    writer = ResponseWriter(
        response, lambda prefix: f"{prefix}_{next(numbers)}", lambda: 1.0, seal=lambda state: ""
    )
    one = UnfinishedItem(item)
    for event in logged:
        one.read(PLACE | event)
    created = one.close(writer, 0)
    return created, [msgspec.json.decode(msgspec.json.encode(event)) for event in writer.take()]


def text(kind: str, index: int, **more: Any) -> dict[str, Any]:
    return {"type": f"response.output_text.{kind}", "content_index": index, **more}


def part(kind: str, index: int, text: str = "", **more: Any) -> dict[str, Any]:
    content = {**PART, "text": text, **more}
    return {"type": f"response.content_part.{kind}", "content_index": index, "part": content}


def test_an_open_text_is_closed_with_its_citations_and_logprobs() -> None:
    item, events = closed(
        message(),
        part("added", 0),
        text("delta", 0, delta="Once ", logprobs=[LOGPROB]),
        text("delta", 0, delta="upon"),
        text("annotation.added", 0, annotation_index=0, annotation=CITED),
    )
    content = {**PART, "text": "Once upon", "annotations": [CITED], "logprobs": [LOGPROB]}

    assert item == message(status="incomplete", content=[content])
    assert [event["type"] for event in events] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
    ]
    assert (events[0]["text"], events[0]["logprobs"], events[0]["content_index"]) == (
        "Once upon",
        [LOGPROB],
        0,
    )
    assert (events[1]["part"], events[2]["item"]) == (content, item)


def test_what_was_closed_before_is_not_closed_again() -> None:
    item, events = closed(
        message(),
        part("added", 0),
        text("delta", 0, delta="Once"),
        text("done", 0, text="Once", logprobs=[]),
        part("done", 0, "Once", annotations=[CITED]),
        part("added", 1),
        text("delta", 1, delta="more"),
        text("done", 1, text="more.", logprobs=[]),
    )

    assert item["content"] == [
        {**PART, "text": "Once", "annotations": [CITED]},
        {**PART, "text": "more."},
    ]
    assert [(event["type"], event.get("content_index")) for event in events] == [
        ("response.content_part.done", 1),
        ("response.output_item.done", None),
    ]


def test_an_item_that_was_done_stays_as_it_was() -> None:
    done = message(status="completed", content=[{**PART, "text": "Once"}])
    added = part("added", 0), text("delta", 0, delta="On")

    assert closed(message(), *added, {"type": "response.output_item.done", "item": done}) == (
        done,
        [],
    )
