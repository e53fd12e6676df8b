"""Hosted tools' items: the content of each when it is done, and its position among the others."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from antiphon_verify.events.grammar import FIELDS, STEP_ORDER, STEPS, at, stem
from antiphon_verify.events.rules import Breach, displayed
from antiphon_verify.events.streams import Event

ENDS = ("completed", "failed")


@dataclass(slots=True)
class Progress:
    """The progress of an item."""

    steps: list[str] = field(default_factory=list)
    """The last words of its steps' events."""
    reached: int = 0
    """The highest position in `STEP_ORDER`."""
    images: int = 0

    @property
    def end(self) -> str | None:
        return next((step for step in self.steps if step in ENDS), None)


def check_tools(events: list[Event]) -> Iterator[Breach]:
    """Follow every hosted tool's item."""
    items: dict[int, Progress] = {}
    for event in events:
        if event["type"] in STEP_ORDER:
            progress = items.setdefault(event["output_index"], Progress())
            yield from _check_step(progress, event)
            if event["type"] == "response.image_generation_call.partial_image":
                yield from _check_partial_image(progress, event)
        elif event["type"] == "response.output_item.done" and event["item"]["type"] in STEPS:
            yield from _check_done(items.pop(event["output_index"], Progress()), event)


def _check_step(progress: Progress, event: Event) -> Iterator[Breach]:
    name = event["type"]
    step = name.rpartition(".")[2]
    if step in STEPS.get(stem(name).removeprefix("response."), ()) or step == "failed":
        if step in progress.steps or (progress.end and step in ENDS):
            yield Breach("tool:step-once", f"{name} was sent before", event)
            return
        progress.steps.append(step)
    if STEP_ORDER[name] < progress.reached:
        yield Breach("tool:order", f"{name} is too late", event)
    progress.reached = max(progress.reached, STEP_ORDER[name])


def _check_partial_image(progress: Progress, event: Event) -> Iterator[Breach]:
    index = event["partial_image_index"]
    if index != progress.images:
        yield Breach(
            "image:partial-index-next", f"{index} arrived when {progress.images} was next", event
        )
    progress.images = index + 1


def _check_done(progress: Progress, event: Event) -> Iterator[Breach]:
    item = event["item"]
    outcome = _outcome(item)
    has_end = progress.end is not None or (
        outcome == "failed" and f"response.{item['type']}.failed" in FIELDS
    )
    if has_end and progress.end != outcome:
        yield Breach(
            "tool:end-matches-status",
            f"a {item['type']} {progress.end or 'without an end'} is done as {outcome}",
            event,
        )
    missing = [step for step in STEPS[item["type"]] if step not in progress.steps]
    if outcome == "completed" and progress.end != "failed" and missing:
        yield Breach(
            "tool:steps-complete", f"a {item['type']} completed without {', '.join(missing)}", event
        )


def _outcome(item: dict[str, Any]) -> Any:
    """Return an item's status; one without a status failed if it has an error."""
    return item.get("status", "failed" if item.get("error") else "completed")


LISTING = "mcp_list_tools"
CALL = "mcp_call"
REQUEST = "mcp_approval_request"

ALONE = {*STEPS, REQUEST}
"""Items during which no other item is open."""

ERRORS: dict[str, tuple[str, ...]] = {
    "mcp_protocol_error": ("code", "message"),
    "mcp_tool_execution_error": ("content",),
    "http_error": ("code", "message"),
}
"""The fields of an MCP call's error in addition to its type, by type."""

ACTIONS: dict[str, tuple[str, ...]] = {
    "search": (),
    "open_page": (),
    "find_in_page": ("pattern", "url"),
    "find": ("pattern", "url"),
}
"""The fields of a web search's action in addition to its type, by type; in 2025, `find_in_page` was
called `find`.
"""


class Open(NamedTuple):
    """An open item: its type, and how it was added."""

    type: str
    added: dict[str, Any]


def check_hosted(events: list[Event]) -> Iterator[Breach]:
    """Follow the items by their output index."""
    open_items: dict[int, Open] = {}
    listed: set[str] = set()
    is_begun = False
    for event in events:
        item = event.get("item", {})
        if event["type"] == "response.output_item.added":
            yield from _check_alone(open_items, event)
            if item["type"] == LISTING:
                yield from _check_listing(listed, is_begun, event)
            is_begun = is_begun or item["type"] != LISTING
            open_items[event["output_index"]] = Open(item["type"], item)
        elif event["type"] == "response.output_item.done":
            begun = open_items.pop(event["output_index"], Open("", {}))
            yield from DONE.get(item["type"], _nothing)(begun.added, event)


def _nothing(added: dict[str, Any], event: Event) -> Iterator[Breach]:
    yield from ()


def _check_alone(open_items: dict[int, Open], event: Event) -> Iterator[Breach]:
    kind = event["item"]["type"]
    for other in open_items.values():
        if ALONE & {kind, other.type}:
            yield Breach("tool:alone", f"a {kind} opens while a {other.type} is open", event)


def _check_listing(listed: set[str], is_begun: bool, event: Event) -> Iterator[Breach]:
    label = str(event["item"].get("server_label"))
    if label in listed:
        yield Breach("mcp:list-once", f"{displayed(label)} was listed before", event)
    listed.add(label)
    if is_begun:
        yield Breach("mcp:list-first", f"{displayed(label)} is listed after other items", event)


# The content of a done item.


def _check_search(added: dict[str, Any], event: Event) -> Iterator[Breach]:
    action = event["item"].get("action")
    kind = at(action, ("type",))
    if not isinstance(kind, str) or kind not in ACTIONS:
        yield _lacks(event, "an action", action)
        return
    for name in ACTIONS[kind]:
        if not isinstance(at(action, (name,)), str):
            yield _lacks(event, name, action)
    for source in _list(action.get("sources")):
        if not isinstance(at(source, ("url",)), str):
            yield _lacks(event, "a URL of a source", source)


def _check_tools_listed(added: dict[str, Any], event: Event) -> Iterator[Breach]:
    item = event["item"]
    yield from _check_texts(("server_label",), event)
    tools = item.get("tools")
    error = item.get("error")
    if not isinstance(tools, list):
        yield _lacks(event, "a list of tools", tools)
    for tool in _list(tools):
        if not isinstance(at(tool, ("name",)), str) or not isinstance(
            at(tool, ("input_schema",)), dict
        ):
            yield _lacks(event, "a tool's name or schema", tool)
    if error is not None and (tools or not isinstance(error, str)):
        yield Breach(
            "mcp:list-outcome",
            f"it has {len(_list(tools))} tools and the error {displayed(error)}",
            event,
        )


def _check_called(added: dict[str, Any], event: Event) -> Iterator[Breach]:
    item = event["item"]
    yield from _check_texts(("name", "arguments", "server_label"), event)
    error = item.get("error")
    status = item.get("status")
    wrong = {"completed": "error", "failed": "output"}.get(
        status if isinstance(status, str) else "", ""
    )
    if item.get(wrong) is not None:
        yield Breach(
            "mcp:call-outcome", f"it {status} with the {wrong} {displayed(item[wrong])}", event
        )
    if error is not None and not _is_error(error):
        yield Breach("mcp:call-error", f"the error is {displayed(error)}", event)
    if added.get("arguments") and added["arguments"] != item.get("arguments"):
        yield Breach(
            "mcp:arguments-kept",
            f"{displayed(added['arguments'])} became {displayed(item.get('arguments'))}",
            event,
        )


def _check_requested(added: dict[str, Any], event: Event) -> Iterator[Breach]:
    yield from _check_texts(("name", "arguments", "server_label"), event)
    # Its sealed content is an extension, and known only once all calls of its answer are.
    item = {name: value for name, value in event["item"].items() if name != "encrypted_content"}
    if added and added != item:
        yield Breach(
            "mcp:request-whole", "it is done with other content than it was added with", event
        )


DONE: dict[str, Callable[[dict[str, Any], Event], Iterator[Breach]]] = {
    "web_search_call": _check_search,
    LISTING: _check_tools_listed,
    CALL: _check_called,
    REQUEST: _check_requested,
}


def _check_texts(names: tuple[str, ...], event: Event) -> Iterator[Breach]:
    for name in names:
        if not isinstance(event["item"].get(name), str):
            yield _lacks(event, name, event["item"].get(name))


def _is_error(error: Any) -> bool:
    kind = at(error, ("type",))
    return (
        isinstance(kind, str)
        and kind in ERRORS
        and all(error.get(name) is not None for name in ERRORS[kind])
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _lacks(event: Event, what: str, came: Any) -> Breach:
    return Breach(
        "tool:fields", f"a {event['item']['type']} is done without {what}: {displayed(came)}", event
    )
