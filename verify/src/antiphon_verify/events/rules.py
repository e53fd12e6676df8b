"""The requirements on every Responses event stream, whatever server produced it: the rules, and
their violations.

A rule is data: a conformance suite can list, filter and cite rules without running any. `source`
names a section of the specification; "Open Responses" is openresponses.org's (section 17), a level
of `should` is OpenAI's behaviour, which clients do not depend on.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from antiphon_verify.events.mutations import (
    ADDED,
    COMPACTING,
    DONE,
    FLAT,
    MALFORMED,
    TOOL,
    Mutation,
    both,
    cited,
    double,
    drop,
    drop_one,
    insert,
    move,
    put,
    relisted,
    remove,
    renumber,
    swap,
)
from antiphon_verify.events.streams import Event, event

Level = Literal["must", "should"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One requirement: `sentence` describes it, `source` says where it comes from.

    `fault` is a change to a sound stream that breaks this rule and no other.
    """

    id: str
    sentence: str
    source: str
    level: Level = "must"
    fault: Mutation = field(kw_only=True, compare=False, repr=False)


RULES: dict[str, Rule] = {
    rule.id: rule
    for rule in (
        # A single event.
        Rule(
            "event:fields",
            "An event has the fields of its type, each with its JSON type.",
            "section 4",
            fault=Mutation("answer", insert(MALFORMED, "output_text.delta")),
        ),
        Rule(
            "event:known-type",
            "An event's type is one that the API defines, or an extension's `slug:name`.",
            "section 4, 17 rule 6",
            fault=Mutation("answer", insert(event("reasoning_part.added"), "output_text.delta")),
        ),
        # The stream as a whole.
        Rule(
            "stream:sequence-numbers",
            "Every event has a sequence number: 0, 1, 2 and so on.",
            "section 4",
            fault=Mutation("answer", put("completed", "sequence_number", 99), "numbers"),
        ),
        Rule(
            "stream:first-created",
            "The first event is `response.created`.",
            "section 7",
            fault=Mutation("answer", lambda events: [event("keepalive"), *events]),
        ),
        Rule(
            "stream:opening-order",
            "`response.created`, `response.queued` if the response waits, "
            "and `response.in_progress` are sent once each, in this order, before anything else.",
            "section 9, 16",
            fault=Mutation("cut", drop("in_progress")),
        ),
        Rule(
            "stream:one-terminal",
            "The stream ends with `completed`, `incomplete` or `failed`.",
            "section 7",
            fault=Mutation("answer", drop("completed")),
        ),
        Rule(
            "stream:nothing-after-terminal",
            "Nothing follows the terminal event.",
            "section 7",
            fault=Mutation("answer", lambda events: [*events, event("keepalive")]),
        ),
        Rule(
            "stream:one-response-id",
            "Every snapshot of the response has the same id.",
            "section 7",
            fault=Mutation("answer", put("completed", "response.id", "resp_2")),
        ),
        # The response's snapshots.
        Rule(
            "opening:status",
            "The status of an opening snapshot is `queued` or `in_progress`, as its event says.",
            "section 9",
            fault=Mutation("answer", put("created", "response.status", "completed")),
        ),
        Rule(
            "opening:output-empty",
            "The output of an opening snapshot is an empty list.",
            "section 7",
            fault=Mutation("answer", put("in_progress", "response.output", [{"type": "message"}])),
        ),
        Rule(
            "opening:usage-null",
            "The usage of an opening snapshot is null.",
            "section 7",
            fault=Mutation("answer", put("created", "response.usage", {})),
        ),
        Rule(
            "snapshot:constant",
            "The parameters of the request are the same in every snapshot.",
            "section 3",
            "should",
            fault=Mutation("answer", put("completed", "response.metadata", {"a": "b"})),
        ),
        Rule(
            "terminal:status-matches-type",
            "The terminal event's response has the status that the event says.",
            "section 3",
            fault=Mutation("answer", put("completed", "response.status", "incomplete")),
        ),
        Rule(
            "terminal:completed-at",
            "`completed_at` is set if the response completed, and null otherwise.",
            "section 3",
            "should",
            fault=Mutation("answer", put("completed", "response.completed_at", None)),
        ),
        Rule(
            "failed:error-set",
            "A failed response has an error with code and message; others have none.",
            "section 3",
            fault=Mutation("failure", put("failed", "response.error", {"code": "server_error"})),
        ),
        Rule(
            "failed:error-before",
            "An `error` event precedes `response.failed`, with the same code.",
            "section 16",
            "should",
            fault=Mutation("failure", drop("error")),
        ),
        Rule(
            "error:then-failed",
            "`response.failed` directly follows an `error` event.",
            "section 4, 17 rule 5",
            fault=Mutation("failure", insert(event("keepalive"), "error")),
        ),
        Rule(
            "error:nested",
            "An `error` event nests its error under `error`: SDKs raise only then.",
            "section 4",
            "should",
            fault=Mutation("failure", both(drop("error"), insert(event("error", **FLAT), DONE))),
        ),
        Rule(
            "incomplete:reason",
            "An incomplete response has a reason in `incomplete_details`; other responses do not.",
            "section 3",
            fault=Mutation("cut", put("incomplete", "response.incomplete_details", None)),
        ),
        Rule(
            "incomplete:item",
            "A response truncated by its token limit or a filter ends with an incomplete item.",
            "section 16",
            "should",
            fault=Mutation("cut", put(DONE, "item.status", "completed", 1)),
        ),
        Rule(
            "incomplete:response",
            "A completed response never contains an incomplete message or call.",
            "section 17 rule 3",
            fault=Mutation("answer", put(DONE, "item.status", "incomplete", 2)),
        ),
        Rule(
            "incomplete:last",
            "No item opens after a message or call that ended incomplete.",
            "section 17 rule 3",
            fault=Mutation("cut", put(DONE, "item.status", "incomplete", 0)),
        ),
        Rule(
            "usage:present",
            "A completed or incomplete response has usage.",
            "section 3",
            fault=Mutation("cut", put("incomplete", "response.usage", None)),
        ),
        Rule(
            "usage:details",
            "Usage counts tokens as integers, with cached and reasoning tokens in its details.",
            "section 3",
            fault=Mutation("answer", put("completed", "response.usage.input_tokens_details", None)),
        ),
        Rule(
            "usage:totals",
            "Total tokens are input plus output, and no detail exceeds its total.",
            "section 3",
            fault=Mutation("answer", put("completed", "response.usage.total_tokens", 16)),
        ),
        # Items.
        Rule(
            "item:added-once",
            "An output index is opened by one `output_item.added`.",
            "section 7",
            fault=Mutation("calls", double(ADDED)),
        ),
        Rule(
            "item:index-next",
            "Output indexes are 0, 1, 2 in the order of opening.",
            "section 16",
            "should",
            fault=Mutation("calls", renumber("output_index", 2, 3)),
        ),
        Rule(
            "item:id-set",
            "An item has an id.",
            "section 17 rule 3",
            "should",
            fault=Mutation(
                "tools", both(put(ADDED, "item.id", None, 3), put(DONE, "item.id", None, 3))
            ),
        ),
        Rule(
            "item:id-unique",
            "No two items share an id.",
            "section 7",
            fault=Mutation(
                "tools", both(put(ADDED, "item.id", "ws_1", 3), put(DONE, "item.id", "ws_1", 3))
            ),
        ),
        Rule(
            "item:opens-empty",
            "The streamed fields of an item are empty when it is added.",
            "section 17 rule 4",
            "should",
            fault=Mutation("calls", put(ADDED, "item.arguments", "{}")),
        ),
        Rule(
            "item:opens-in-progress",
            "A streamed item is `in_progress` when it is added.",
            "section 16",
            "should",
            fault=Mutation("calls", put(ADDED, "item.status", "completed")),
        ),
        Rule(
            "item:events-inside-life",
            "An item's events follow its `added` and precede its `done`.",
            "section 7",
            fault=Mutation(
                "tools",
                both(
                    drop("compaction.compacting"),
                    insert({**COMPACTING, "output_index": 6}, DONE, 6),
                ),
            ),
        ),
        Rule(
            "item:event-id",
            "An event's `item_id` is the id of the item at its output index.",
            "section 7",
            fault=Mutation("calls", put("function_call_arguments.delta", "item_id", "fc_2")),
        ),
        Rule(
            "item:event-kind",
            "An item receives only events of its own kind.",
            "section 16",
            fault=Mutation("answer", insert(COMPACTING, "output_text.delta")),
        ),
        Rule(
            "item:done-once",
            "An item is done once, before the terminal event.",
            "section 7",
            fault=Mutation("tools", double(DONE, 6)),
        ),
        Rule(
            "item:done-matches-added",
            "An item's type, ids and names do not change after it is added.",
            "section 7",
            fault=Mutation("calls", put(DONE, "item.call_id", "call_9")),
        ),
        Rule(
            "item:status-final",
            "A done item is not in progress, except a call inside a program and a patch, which "
            "have no other status.",
            "section 16",
            fault=Mutation("calls", put(DONE, "item.status", "in_progress")),
        ),
        # Parts: of content, of a reasoning summary, of a shell call.
        Rule(
            "part:index-next",
            "Content indexes of an item are 0, 1, 2 in the order of opening.",
            "section 7",
            fault=Mutation("answer", renumber("content_index", 1, 2)),
        ),
        Rule(
            "part:events-inside-life",
            "A part's events follow its `added` and precede its `done`.",
            "section 7",
            fault=Mutation("answer", drop_one("content_part.added", 1)),
        ),
        Rule(
            "part:done-once",
            "A content part is done once, before its item.",
            "section 17 rule 4",
            fault=Mutation("answer", drop_one("content_part.done", 1)),
        ),
        Rule(
            "part:kind",
            "A part keeps its type, and receives only events of that type.",
            "section 16",
            fault=Mutation(
                "answer", put("content_part.added", "part", {"type": "output_text", "text": ""}, 1)
            ),
        ),
        Rule(
            "part:opens-empty",
            "A part has no text, annotations or log probabilities when it is added.",
            "section 17 rule 4",
            "should",
            fault=Mutation("answer", put("content_part.added", "part.text", "He")),
        ),
        Rule(
            "part:done-equals-text",
            "A done part has the text of its text's `done`.",
            "section 16",
            fault=Mutation("answer", put("content_part.done", "part.text", "Goodbye")),
        ),
        Rule(
            "summary:index-next",
            "Summary indexes of an item are 0, 1, 2 in the order of opening.",
            "section 16",
            fault=Mutation("answer", renumber("summary_index", 0, 1)),
        ),
        Rule(
            "summary:events-inside-life",
            "A summary part's events follow its `added` and precede its `done`.",
            "section 16",
            fault=Mutation("answer", drop("reasoning_summary_part.added")),
        ),
        Rule(
            "summary:done-once",
            "A summary part is done once, before its item.",
            "section 16",
            fault=Mutation("answer", drop("reasoning_summary_part.done")),
        ),
        Rule(
            "summary:done-equals-text",
            "A done summary part has the text of its text's `done`.",
            "section 16",
            fault=Mutation("answer", put("reasoning_summary_part.done", "part.text", "Bye")),
        ),
        Rule(
            "command:index-next",
            "Command indexes of a shell call are 0, 1, 2 in the order of opening.",
            "section 16",
            fault=Mutation("tools", renumber("command_index", 1, 2, "shell_call_command")),
        ),
        Rule(
            "command:events-inside-life",
            "A command's events follow its `added` and precede its `done`.",
            "section 16",
            fault=Mutation("tools", drop_one("shell_call_command.added", 1)),
        ),
        Rule(
            "command:done-once",
            "A shell call's command is done once, before its item.",
            "section 16",
            fault=Mutation(
                "tools",
                insert(
                    event("shell_call_command.added", output_index=3, command_index=2, command=""),
                    "shell_call_command.done",
                    1,
                ),
            ),
        ),
        # Text, of every kind that arrives in deltas.
        Rule(
            "text:done-equals-deltas",
            "The text in `done` equals the joined deltas.",
            "section 16",
            fault=Mutation("calls", put("function_call_arguments.delta", "delta", "{}")),
        ),
        Rule(
            "text:deltas-first",
            "A non-empty text arrives in deltas before its `done`.",
            "section 16",
            "should",
            fault=Mutation("calls", drop("function_call_arguments.delta")),
        ),
        Rule(
            "text:done-once",
            "A started text is done once, before its part or item, and does not grow after that.",
            "section 17 rule 4",
            fault=Mutation("answer", drop("refusal.done")),
        ),
        Rule(
            "text:logprobs-listed",
            "Deltas and `done` of output text have a list of log probabilities.",
            "section 4",
            "should",
            fault=Mutation("answer", both(remove("output_text.done", "logprobs"))),
        ),
        Rule(
            "text:logprobs-equal-deltas",
            "The log probabilities of `done` and of the part are those of the deltas.",
            "section 16",
            fault=Mutation("answer", put("content_part.done", "part.logprobs", [])),
        ),
        Rule(
            "annotation:index-next",
            "Annotation indexes of a part are 0, 1, 2 in the order of arrival.",
            "section 16",
            fault=Mutation("answer", put("output_text.annotation.added", "annotation_index", 1)),
        ),
        Rule(
            "annotation:part-equals-added",
            "A done part has the annotations that were added.",
            "section 16",
            fault=Mutation("answer", put("content_part.done", "part.annotations", [])),
        ),
        Rule(
            "annotation:fields",
            "An annotation has the fields of its type, each with its JSON type.",
            "section 5",
            "should",
            fault=Mutation("answer", cited(title=None)),
        ),
        Rule(
            "annotation:in-text",
            "An annotation's indexes are inside its text.",
            "section 5",
            fault=Mutation("answer", cited(start_index=5, end_index=4)),
        ),
        # Complete items.
        Rule(
            "item:content-equals-parts",
            "The content of a done item consists of its done parts.",
            "section 16",
            fault=Mutation("answer", put(DONE, "item.content", [], 1), "output"),
        ),
        Rule(
            "item:summary-equals-parts",
            "The summary of a done reasoning item consists of its done summary parts.",
            "section 16",
            fault=Mutation("answer", put(DONE, "item.summary", [], 0), "output"),
        ),
        Rule(
            "item:equals-text",
            "A done call has the streamed arguments, input, code, diff, commands or output.",
            "section 16",
            fault=Mutation("calls", put(DONE, "item.arguments", "{}")),
        ),
        # Hosted tools.
        Rule(
            "tool:order",
            "The steps of a hosted tool arrive in order.",
            "section 16",
            fault=Mutation(
                "tools", swap("web_search_call.in_progress", "web_search_call.searching")
            ),
        ),
        Rule(
            "tool:step-once",
            "Each step of a hosted tool occurs once.",
            "section 16",
            "should",
            fault=Mutation("tools", double("web_search_call.searching")),
        ),
        Rule(
            "tool:steps-complete",
            "A hosted tool's completed item went through every step.",
            "section 16",
            "should",
            fault=Mutation("tools", drop("web_search_call.searching")),
        ),
        Rule(
            "tool:end-matches-status",
            "The status of a hosted tool's item matches its last step.",
            "section 16",
            fault=Mutation("tools", put(DONE, "item.status", "failed", 0)),
        ),
        Rule(
            "tool:fields",
            "A hosted tool's done item has the fields of its type.",
            "section 5",
            fault=Mutation("tools", put(DONE, "item.action", None, 0)),
        ),
        Rule(
            "tool:alone",
            "No other item is open while a hosted tool's item is.",
            "section 16",
            "should",
            fault=Mutation("tools", move(ADDED, 1, before=(DONE, 0))),
        ),
        Rule(
            "mcp:list-first",
            "The tools of MCP servers are listed before any other item.",
            "section 16",
            "should",
            fault=Mutation("mcp", relisted("cards")),
        ),
        Rule(
            "mcp:list-once",
            "An MCP server's tools are listed once in a response.",
            "section 16",
            "should",
            fault=Mutation(
                "mcp", both(*(put(name, "item.server_label", "dead", 1) for name in (ADDED, DONE)))
            ),
        ),
        Rule(
            "mcp:list-outcome",
            "A list of tools has either tools or an error, as text.",
            "section 5",
            fault=Mutation("mcp", put(DONE, "item.tools", [TOOL], 0)),
        ),
        Rule(
            "mcp:call-outcome",
            "A completed MCP call has no error, and a failed one no output.",
            "section 16",
            fault=Mutation("mcp", put(DONE, "item.output", "5", 3)),
        ),
        Rule(
            "mcp:call-error",
            "An MCP call's error is an object: of the protocol, of the tool's execution, "
            "or of HTTP.",
            "section 5",
            "should",
            fault=Mutation("mcp", put(DONE, "item.error", "boom", 3)),
        ),
        Rule(
            "mcp:arguments-kept",
            "An approved MCP call has the arguments with which it was added.",
            "section 16",
            fault=Mutation("mcp", put(ADDED, "item.arguments", '{"e":"9d9"}', 4)),
        ),
        Rule(
            "mcp:request-whole",
            "A request for approval is complete when it is added.",
            "section 16",
            "should",
            fault=Mutation("mcp", put(DONE, "item.arguments", '{"e":"9d9"}', 5)),
        ),
        Rule(
            "image:partial-index-next",
            "Partial images are numbered 0, 1, 2.",
            "section 4",
            "should",
            fault=Mutation(
                "tools", put("image_generation_call.partial_image", "partial_image_index", 1)
            ),
        ),
        # The end.
        Rule(
            "output:equals-done-items",
            "The terminal response's output consists of the done items in order.",
            "section 7",
            fault=Mutation("answer", put("completed", "response.output", []), "nothing"),
        ),
        Rule(
            "output:same-content",
            "An item in the terminal response equals the done item.",
            "section 7",
            fault=Mutation("answer", put("completed", "response.output.1.role", "user"), "nothing"),
        ),
    )
}
"""Every rule by its id."""


class Breach(NamedTuple):
    """One place where a rule is violated."""

    rule: str
    message: str
    event: Event | None = None


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a stream violates, `times` over; message and sequence number are of the first
    violation.
    """

    rule: str
    message: str
    sequence_number: int | None = None
    times: int = 1

    @property
    def level(self) -> Level:
        """Whether the rule is a `must` or a `should`."""
        return RULES[self.rule].level

    def __str__(self) -> str:
        where = "" if self.sequence_number is None else f" at {self.sequence_number}"
        more = f" ({self.times} times)" if self.times > 1 else ""
        return f"{self.rule}{where}: {self.message}{more}"


def displayed(value: Any) -> str:
    """Return a value for a message, truncated to 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def violations(breaches: Iterable[Breach]) -> list[Violation]:
    """Return one violation for each violated rule, in the order of the rules."""
    first: dict[str, Breach] = {}
    times: dict[str, int] = {}
    for breach in breaches:
        first.setdefault(breach.rule, breach)
        times[breach.rule] = times.get(breach.rule, 0) + 1
    return [_violation(first[rule], times[rule]) for rule in RULES if rule in first]


def _violation(breach: Breach, times: int) -> Violation:
    number = breach.event.get("sequence_number") if breach.event else None
    return Violation(breach.rule, breach.message, number if type(number) is int else None, times)
