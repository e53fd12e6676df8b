"""Changes to a sound stream, each of which breaks one rule and no other."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

from tests.unit.testing.events.streams import Event, done_items, event, numbered

Change = Callable[[list[Event]], list[Event]]


class Mutation(NamedTuple):
    """A change to one of the `STREAMS`, and how much of what repeats the changed fact is brought into line with it."""

    stream: str
    change: Change
    settled: str = "items"
    """`items`: items say what their parts say, the terminal output what the items say. `output`: only the latter."""

    def apply(self, streams: dict[str, list[Event]]) -> list[Event]:
        events = self.change(deepcopy(streams[self.stream]))
        if self.settled == "items":
            settle_items(events)
        if self.settled in ("items", "output"):
            settle_output(events)
        return events if self.settled == "numbers" else numbered(events)


def settle_items(events: list[Event]) -> None:
    parts: dict[tuple[int, str], list[Any]] = {}
    for each in events:
        name = each["type"].removeprefix("response.")
        if name in ("content_part.done", "reasoning_summary_part.done"):
            key = "content" if "content_index" in each else "summary"
            parts.setdefault((each["output_index"], key), []).append(each["part"])
        if name == "output_item.done":
            for key in {"content", "summary"} & each["item"].keys():
                each["item"][key] = deepcopy(parts.get((each["output_index"], key), []))


def settle_output(events: list[Event]) -> None:
    for each in events:
        if each["type"] in ("response.completed", "response.incomplete", "response.failed"):
            each["response"]["output"] = done_items(events)


# Ways to change a stream. A type is given without `response.`; `nth` counts events of that type from 0.


def find(events: list[Event], type: str, nth: int = 0) -> int:
    named = (type, f"response.{type}")
    return [place for place, each in enumerate(events) if each["type"] in named][nth]


def drop(*types: str) -> Change:
    """Leave out every event of these types."""
    named = {*types, *(f"response.{name}" for name in types)}
    return lambda events: [each for each in events if each["type"] not in named]


def drop_one(type: str, nth: int = 0) -> Change:
    def change(events: list[Event]) -> list[Event]:
        del events[find(events, type, nth)]
        return events

    return change


def double(type: str, nth: int = 0) -> Change:
    def change(events: list[Event]) -> list[Event]:
        place = find(events, type, nth)
        return [*events[: place + 1], deepcopy(events[place]), *events[place + 1 :]]

    return change


def insert(new: Event, after: str, nth: int = 0) -> Change:
    def change(events: list[Event]) -> list[Event]:
        place = find(events, after, nth) + 1
        return [*events[:place], new, *events[place:]]

    return change


def swap(first: str, second: str) -> Change:
    def change(events: list[Event]) -> list[Event]:
        one, other = find(events, first), find(events, second)
        events[one], events[other] = events[other], events[one]
        return events

    return change


def put(type: str, path: str, value: Any, nth: int = 0) -> Change:
    """Set what an event has at a path such as `item.status`; None for a value is null."""

    def change(events: list[Event]) -> list[Event]:
        *keys, last = path.split(".")
        target: Any = events[find(events, type, nth)]
        for key in keys:
            target = target[int(key)] if isinstance(target, list) else target[key]
        target[int(last) if isinstance(target, list) else last] = value
        return events

    return change


def remove(type: str, key: str) -> Change:
    def change(events: list[Event]) -> list[Event]:
        del events[find(events, type)][key]
        return events

    return change


def renumber(key: str, old: int, new: int, types: str = "") -> Change:
    """Every event that says `old` says `new`, of those whose type has the word in it."""

    def change(events: list[Event]) -> list[Event]:
        return [{**each, key: new} if each.get(key) == old and types in each["type"] else each for each in events]

    return change


def move(type: str, nth: int, before: tuple[str, int]) -> Change:
    """Put an event before another one, where it came after it."""

    def change(events: list[Event]) -> list[Event]:
        moved, place = events[find(events, type, nth)], find(events, *before)
        rest = [each for each in events if each is not moved]
        return [*rest[:place], moved, *rest[place:]]

    return change


def cited(**fields: Any) -> Change:
    """The citation says this, where it is added and where its part is done."""
    added, done = "output_text.annotation.added", "content_part.done"
    places = ((added, "annotation"), (done, "part.annotations.0"))
    return both(*(put(each, f"{path}.{name}", value) for each, path in places for name, value in fields.items()))


def relisted(label: str) -> Change:
    """The tools of another server are listed, at the end."""
    added = {"id": "mcpl_9", "type": "mcp_list_tools", "server_label": label, "tools": [], "error": None}
    place = {"output_index": 6}
    named = {**place, "item_id": "mcpl_9"}
    listing = [
        event("output_item.added", **place, item=added),
        event("mcp_list_tools.in_progress", **named),
        event("mcp_list_tools.completed", **named),
        event("output_item.done", **place, item=added),
    ]
    return lambda events: [*events[:-1], *listing, events[-1]]


def both(*changes: Change) -> Change:
    def change(events: list[Event]) -> list[Event]:
        for each in changes:
            events = each(events)
        return events

    return change


ADDED, DONE = "output_item.added", "output_item.done"
COMPACTING = event("compaction.compacting", output_index=1, item_id="msg_1")
MALFORMED = event("output_text.delta", output_index=1, delta="x")
TOOL = {"name": "roll", "input_schema": {"type": "object"}}
FLAT = {"code": "server_error", "message": "The backend broke off."}

MUTATIONS: dict[str, Mutation] = {
    "event:fields": Mutation("answer", insert(MALFORMED, "output_text.delta")),
    "event:known-type": Mutation("answer", insert(event("reasoning_part.added"), "output_text.delta")),
    "stream:sequence-numbers": Mutation("answer", put("completed", "sequence_number", 99), "numbers"),
    "stream:first-created": Mutation("answer", lambda events: [event("keepalive"), *events]),
    "stream:opening-order": Mutation("cut", drop("in_progress")),
    "stream:one-terminal": Mutation("answer", drop("completed")),
    "stream:nothing-after-terminal": Mutation("answer", lambda events: [*events, event("keepalive")]),
    "stream:one-response-id": Mutation("answer", put("completed", "response.id", "resp_2")),
    "opening:status": Mutation("answer", put("created", "response.status", "completed")),
    "opening:output-empty": Mutation("answer", put("in_progress", "response.output", [{"type": "message"}])),
    "opening:usage-null": Mutation("answer", put("created", "response.usage", {})),
    "snapshot:constant": Mutation("answer", put("completed", "response.metadata", {"a": "b"})),
    "terminal:status-matches-type": Mutation("answer", put("completed", "response.status", "incomplete")),
    "terminal:completed-at": Mutation("answer", put("completed", "response.completed_at", None)),
    "failed:error-set": Mutation("failure", put("failed", "response.error", {"code": "server_error"})),
    "failed:error-before": Mutation("failure", drop("error")),
    "error:then-failed": Mutation("failure", insert(event("keepalive"), "error")),
    "error:nested": Mutation("failure", both(drop("error"), insert(event("error", **FLAT), DONE))),
    "incomplete:reason": Mutation("cut", put("incomplete", "response.incomplete_details", None)),
    "incomplete:item": Mutation("cut", put(DONE, "item.status", "completed", 1)),
    "incomplete:response": Mutation("answer", put(DONE, "item.status", "incomplete", 2)),
    "incomplete:last": Mutation("cut", put(DONE, "item.status", "incomplete", 0)),
    "usage:present": Mutation("cut", put("incomplete", "response.usage", None)),
    "usage:details": Mutation("answer", put("completed", "response.usage.input_tokens_details", None)),
    "usage:totals": Mutation("answer", put("completed", "response.usage.total_tokens", 16)),
    "item:added-once": Mutation("calls", double(ADDED)),
    "item:index-next": Mutation("calls", renumber("output_index", 2, 3)),
    "item:id-set": Mutation("tools", both(put(ADDED, "item.id", None, 3), put(DONE, "item.id", None, 3))),
    "item:id-unique": Mutation("tools", both(put(ADDED, "item.id", "ws_1", 3), put(DONE, "item.id", "ws_1", 3))),
    "item:opens-empty": Mutation("calls", put(ADDED, "item.arguments", "{}")),
    "item:opens-in-progress": Mutation("calls", put(ADDED, "item.status", "completed")),
    "item:events-inside-life": Mutation(
        "tools", both(drop("compaction.compacting"), insert({**COMPACTING, "output_index": 6}, DONE, 6))
    ),
    "item:event-id": Mutation("calls", put("function_call_arguments.delta", "item_id", "fc_2")),
    "item:event-kind": Mutation("answer", insert(COMPACTING, "output_text.delta")),
    "item:done-once": Mutation("tools", double(DONE, 6)),
    "item:done-matches-added": Mutation("calls", put(DONE, "item.call_id", "call_9")),
    "item:status-final": Mutation("calls", put(DONE, "item.status", "in_progress")),
    "part:index-next": Mutation("answer", renumber("content_index", 1, 2)),
    "part:events-inside-life": Mutation("answer", drop_one("content_part.added", 1)),
    "part:done-once": Mutation("answer", drop_one("content_part.done", 1)),
    "part:kind": Mutation("answer", put("content_part.added", "part", {"type": "output_text", "text": ""}, 1)),
    "part:opens-empty": Mutation("answer", put("content_part.added", "part.text", "He")),
    "part:done-equals-text": Mutation("answer", put("content_part.done", "part.text", "Goodbye")),
    "summary:index-next": Mutation("answer", renumber("summary_index", 0, 1)),
    "summary:events-inside-life": Mutation("answer", drop("reasoning_summary_part.added")),
    "summary:done-once": Mutation("answer", drop("reasoning_summary_part.done")),
    "summary:done-equals-text": Mutation("answer", put("reasoning_summary_part.done", "part.text", "Bye")),
    "command:index-next": Mutation("tools", renumber("command_index", 1, 2, "shell_call_command")),
    "command:events-inside-life": Mutation("tools", drop_one("shell_call_command.added", 1)),
    "command:done-once": Mutation(
        "tools",
        insert(
            event("shell_call_command.added", output_index=3, command_index=2, command=""), "shell_call_command.done", 1
        ),
    ),
    "text:done-equals-deltas": Mutation("calls", put("function_call_arguments.delta", "delta", "{}")),
    "text:deltas-first": Mutation("calls", drop("function_call_arguments.delta")),
    "text:done-once": Mutation("answer", drop("refusal.done")),
    "text:logprobs-listed": Mutation("answer", both(remove("output_text.done", "logprobs"))),
    "text:logprobs-equal-deltas": Mutation("answer", put("content_part.done", "part.logprobs", [])),
    "annotation:index-next": Mutation("answer", put("output_text.annotation.added", "annotation_index", 1)),
    "annotation:part-equals-added": Mutation("answer", put("content_part.done", "part.annotations", [])),
    "annotation:fields": Mutation("answer", cited(title=None)),
    "annotation:in-text": Mutation("answer", cited(start_index=5, end_index=4)),
    "item:content-equals-parts": Mutation("answer", put(DONE, "item.content", [], 1), "output"),
    "item:summary-equals-parts": Mutation("answer", put(DONE, "item.summary", [], 0), "output"),
    "item:equals-text": Mutation("calls", put(DONE, "item.arguments", "{}")),
    "tool:order": Mutation("tools", swap("web_search_call.in_progress", "web_search_call.searching")),
    "tool:step-once": Mutation("tools", double("web_search_call.searching")),
    "tool:steps-complete": Mutation("tools", drop("web_search_call.searching")),
    "tool:end-matches-status": Mutation("tools", put(DONE, "item.status", "failed", 0)),
    "tool:fields": Mutation("tools", put(DONE, "item.action", None, 0)),
    "tool:alone": Mutation("tools", move(ADDED, 1, before=(DONE, 0))),
    "mcp:list-first": Mutation("mcp", relisted("cards")),
    "mcp:list-once": Mutation("mcp", both(*(put(name, "item.server_label", "dead", 1) for name in (ADDED, DONE)))),
    "mcp:list-outcome": Mutation("mcp", put(DONE, "item.tools", [TOOL], 0)),
    "mcp:call-outcome": Mutation("mcp", put(DONE, "item.output", "5", 3)),
    "mcp:call-error": Mutation("mcp", put(DONE, "item.error", "boom", 3)),
    "mcp:arguments-kept": Mutation("mcp", put(ADDED, "item.arguments", '{"e":"9d9"}', 4)),
    "mcp:request-whole": Mutation("mcp", put(DONE, "item.arguments", '{"e":"9d9"}', 5)),
    "image:partial-index-next": Mutation("tools", put("image_generation_call.partial_image", "partial_image_index", 1)),
    "output:equals-done-items": Mutation("answer", put("completed", "response.output", []), "nothing"),
    "output:same-content": Mutation("answer", put("completed", "response.output.1.role", "user"), "nothing"),
}
"""By the rule broken."""

MORE: list[tuple[str, Mutation]] = [
    # Other ways to break the same rules: what each kind of text, item and place adds to them.
    ("event:fields", Mutation("answer", insert({"delta": "x"}, "output_text.delta"), "nothing")),
    ("event:fields", Mutation("answer", insert(event("error"), "output_text.delta"))),
    ("stream:sequence-numbers", Mutation("answer", remove("completed", "sequence_number"), "numbers")),
    ("stream:sequence-numbers", Mutation("answer", put("created", "sequence_number", 1), "numbers")),
    ("stream:opening-order", Mutation("answer", double("in_progress"))),
    ("stream:opening-order", Mutation("cut", swap("queued", "in_progress"))),
    ("failed:error-before", Mutation("failure", put("error", "error.code", "rate_limit_exceeded"))),
    ("failed:error-set", Mutation("answer", put("completed", "response.error", FLAT))),
    ("incomplete:reason", Mutation("answer", put("completed", "response.incomplete_details", {"reason": "steered"}))),
    ("usage:totals", Mutation("answer", put("completed", "response.usage.input_tokens_details.cached_tokens", 11))),
    ("item:done-once", Mutation("tools", both(drop_one(DONE, 6)))),
    ("item:id-unique", Mutation("answer", both(*(put(name, "item.id", "rs_1", 2) for name in (ADDED, DONE))))),
    ("part:kind", Mutation("answer", put("content_part.done", "part.type", "refusal"))),
    ("text:deltas-first", Mutation("calls", drop("custom_tool_call_input.delta"))),
    ("text:done-equals-deltas", Mutation("answer", put("output_text.delta", "delta", "Bye"))),
    ("text:done-equals-deltas", Mutation("answer", put("refusal.delta", "delta", "Yes."))),
    ("text:done-equals-deltas", Mutation("answer", put("reasoning_text.delta", "delta", "x"))),
    ("text:done-equals-deltas", Mutation("answer", put("reasoning_summary_text.delta", "delta", "x"))),
    ("text:done-equals-deltas", Mutation("calls", put("custom_tool_call_input.delta", "delta", "x"))),
    ("text:done-equals-deltas", Mutation("tools", put("code_interpreter_call_code.delta", "delta", "x"))),
    ("text:done-equals-deltas", Mutation("tools", put("shell_call_command.delta", "delta", "x"))),
    ("text:done-equals-deltas", Mutation("tools", put("shell_call_output_content.delta", "delta.stdout", "x"))),
    ("text:done-equals-deltas", Mutation("tools", put("apply_patch_call_operation_diff.delta", "delta", "x"))),
    ("text:done-once", Mutation("mcp", drop("mcp_call_arguments.done"))),
    ("text:done-once", Mutation("calls", double("function_call_arguments.done"))),
    ("text:done-once", Mutation("calls", drop("custom_tool_call_input.done"))),
    ("text:done-once", Mutation("tools", drop("shell_call_output_content.done"))),
    ("text:logprobs-equal-deltas", Mutation("answer", put("output_text.delta", "logprobs", []))),
    ("item:equals-text", Mutation("mcp", put(DONE, "item.arguments", "x", 2))),
    ("item:equals-text", Mutation("tools", put(DONE, "item.action.commands", ["ls"], 3))),
    ("item:equals-text", Mutation("tools", put(DONE, "item.output", [], 4))),
    ("item:equals-text", Mutation("tools", put(DONE, "item.operation.diff", "", 5))),
    ("text:done-equals-deltas", Mutation("mcp", put("mcp_call_arguments.delta", "delta", "x"))),
    ("tool:order", Mutation("mcp", swap("mcp_call_arguments.done", "mcp_call.completed"))),
    ("tool:order", Mutation("mcp", swap("mcp_list_tools.in_progress", "mcp_list_tools.failed"))),
    ("tool:step-once", Mutation("mcp", double("mcp_call.in_progress"))),
    ("tool:steps-complete", Mutation("mcp", drop("mcp_call.completed"))),
    ("tool:steps-complete", Mutation("mcp", drop("mcp_list_tools.completed"))),
    ("tool:end-matches-status", Mutation("mcp", put(DONE, "item.error", None, 0))),
    ("tool:end-matches-status", Mutation("mcp", put(DONE, "item.error", "unreachable", 1))),
    ("tool:end-matches-status", Mutation("mcp", put(DONE, "item.status", "failed", 2))),
    ("tool:end-matches-status", Mutation("mcp", drop("mcp_call.failed"))),
    ("tool:end-matches-status", Mutation("mcp", drop("mcp_list_tools.failed"))),
    ("item:opens-empty", Mutation("mcp", put(ADDED, "item.tools", [{}]))),
    ("item:opens-empty", Mutation("mcp", put(ADDED, "item.output", "5", 2))),
    ("item:opens-empty", Mutation("mcp", put(ADDED, "item.arguments", "{}", 3))),
    ("item:done-matches-added", Mutation("mcp", put(DONE, "item.server_label", "cards", 1))),
    ("item:done-matches-added", Mutation("mcp", put(DONE, "item.name", "deal", 2))),
    ("item:done-matches-added", Mutation("mcp", put(DONE, "item.approval_request_id", None, 4))),
    *(
        ("tool:fields", Mutation("mcp", put(DONE, f"item.{name}", None, nth)))
        for name, nth in (
            *(("server_label", 0), ("tools", 1), ("tools.0.name", 1), ("tools.0.input_schema", 1)),
            *(("name", 2), ("server_label", 2), ("arguments", 2)),
            *(("name", 5), ("server_label", 5), ("arguments", 5)),
        )
    ),
    *(
        ("tool:fields", Mutation("tools", put(DONE, "item.action", action)))
        for action in (
            *({"type": "dig", "query": "q"}, {}, "search"),
            *({"type": "find_in_page", "pattern": "x"}, {"type": "find_in_page", "url": "https://e.example/"}),
            {"type": "search", "query": "q", "sources": [{"type": "url"}]},
        )
    ),
    ("tool:alone", Mutation("mcp", move(ADDED, 5, before=(DONE, 4)))),
    ("tool:alone", Mutation("tools", move(ADDED, 3, before=(DONE, 2)))),
    ("mcp:list-outcome", Mutation("mcp", put(DONE, "item.error", {"message": "unreachable"}, 0))),
    ("mcp:call-outcome", Mutation("mcp", put(DONE, "item.error", {"type": "http_error"}, 2))),
    ("mcp:call-error", Mutation("mcp", put(DONE, "item.error.content", None, 3))),
    ("mcp:call-error", Mutation("mcp", put(DONE, "item.error", {"type": "mcp_protocol_error", "code": 1}, 3))),
    ("mcp:call-error", Mutation("mcp", put(DONE, "item.error", {"type": "timeout", "message": "x"}, 3))),
    ("mcp:request-whole", Mutation("mcp", put(ADDED, "item.arguments", "", 5))),
    ("annotation:in-text", Mutation("answer", cited(start_index=6))),
    ("annotation:in-text", Mutation("answer", cited(start_index=-1))),
    ("annotation:in-text", Mutation("answer", cited(end_index=10))),
    ("annotation:fields", Mutation("answer", cited(end_index="5"))),
    ("annotation:fields", Mutation("answer", cited(type="file_citation"))),
    ("annotation:fields", Mutation("answer", cited(type="footnote"))),
]
