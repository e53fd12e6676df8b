"""What every Responses event stream must satisfy, whoever produced it: the rules, and what breaks them.

A rule is data: a conformance suite can list, filter and cite them without running any. `source` names a section of
the specification; "Open Responses" is openresponses.org's (section 17), a level of `should` is what OpenAI does and
a client may live without.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Event = dict[str, Any]
"""An event as plain JSON."""

Level = Literal["must", "should"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One requirement: `sentence` says it in words, `source` says who says so."""

    id: str
    sentence: str
    source: str
    level: Level = "must"


RULES: dict[str, Rule] = {
    rule.id: rule
    for rule in (
        # An event by itself.
        Rule("event:fields", "An event has the fields of its type, each of its JSON type.", "section 4"),
        Rule(
            "event:known-type", "An event's type is the API's, or an extension's `slug:name`.", "section 4, 17 rule 6"
        ),
        # The stream as a whole.
        Rule("stream:sequence-numbers", "Every event has a sequence number: 0, 1, 2 and so on.", "section 4"),
        Rule("stream:first-created", "The first event is `response.created`.", "section 7"),
        Rule(
            "stream:opening-order",
            "`response.created`, `response.queued` if the response waits, and `response.in_progress` come once each, "
            "in this order, before anything else.",
            "section 9, 16",
        ),
        Rule("stream:one-terminal", "The stream ends with `completed`, `incomplete` or `failed`.", "section 7"),
        Rule("stream:nothing-after-terminal", "Nothing follows the terminal event.", "section 7"),
        Rule("stream:one-response-id", "Every snapshot of the response has the same id.", "section 7"),
        # The response's snapshots.
        Rule(
            "opening:status",
            "An opening snapshot's status is `queued` or `in_progress`, as its event says.",
            "section 9",
        ),
        Rule("opening:output-empty", "An opening snapshot's output is an empty list.", "section 7"),
        Rule("opening:usage-null", "An opening snapshot's usage is null.", "section 7"),
        Rule("snapshot:constant", "What the request set is the same in every snapshot.", "section 3", "should"),
        Rule(
            "terminal:status-matches-type",
            "The terminal event's response has the status that the event says.",
            "section 3",
        ),
        Rule(
            "terminal:completed-at",
            "`completed_at` is set when the response completed, else null.",
            "section 3",
            "should",
        ),
        Rule(
            "failed:error-set", "A failed response has an error with code and message; others have none.", "section 3"
        ),
        Rule(
            "failed:error-before",
            "An `error` event comes before `response.failed`, with the same code.",
            "section 16",
            "should",
        ),
        Rule("error:then-failed", "`response.failed` follows an `error` event at once.", "section 4, 17 rule 5"),
        Rule(
            "error:nested",
            "An `error` event nests its error under `error`: SDKs raise only then.",
            "section 4",
            "should",
        ),
        Rule(
            "incomplete:reason", "An incomplete response says why in `incomplete_details`; others don't.", "section 3"
        ),
        Rule(
            "incomplete:item",
            "A response cut short by its token cap or a filter ends in an item that is incomplete.",
            "section 16",
            "should",
        ),
        Rule(
            "incomplete:response",
            "A message or call that is incomplete is never in a completed response.",
            "section 17 rule 3",
        ),
        Rule("incomplete:last", "No item opens after a message or call that ended incomplete.", "section 17 rule 3"),
        Rule("usage:present", "A completed or incomplete response has usage.", "section 3"),
        Rule(
            "usage:details",
            "Usage counts tokens as integers, with cached and reasoning tokens in its details.",
            "section 3",
        ),
        Rule("usage:totals", "Total tokens are input plus output, and no detail exceeds its total.", "section 3"),
        # Items.
        Rule("item:added-once", "An output index is opened by one `output_item.added`.", "section 7"),
        Rule("item:index-next", "Output indexes are 0, 1, 2 in the order of opening.", "section 16", "should"),
        Rule("item:id-set", "An item has an id.", "section 17 rule 3", "should"),
        Rule("item:id-unique", "No two items share an id.", "section 7"),
        Rule(
            "item:opens-empty",
            "What will be streamed of an item is empty when it is added.",
            "section 17 rule 4",
            "should",
        ),
        Rule(
            "item:opens-in-progress",
            "An item that will be streamed is `in_progress` when it is added.",
            "section 16",
            "should",
        ),
        Rule("item:events-inside-life", "An item's events come after its `added` and before its `done`.", "section 7"),
        Rule("item:event-id", "An event's `item_id` is the id of the item at its output index.", "section 7"),
        Rule("item:event-kind", "An item gets only events of its own kind.", "section 16"),
        Rule("item:done-once", "An item is done once, before the terminal event.", "section 7"),
        Rule(
            "item:done-matches-added",
            "An item's type, ids and names stay what they were when it was added.",
            "section 7",
        ),
        Rule(
            "item:status-final",
            "A done item is no longer in progress, but for a call inside a program and a patch: it has no other word.",
            "section 16",
        ),
        # Parts: of content, of a reasoning summary, of a shell call.
        Rule("part:index-next", "Content indexes of an item are 0, 1, 2 in the order of opening.", "section 7"),
        Rule("part:events-inside-life", "A part's events come after its `added` and before its `done`.", "section 7"),
        Rule("part:done-once", "A content part is done once, before its item.", "section 17 rule 4"),
        Rule("part:kind", "A part keeps its type, and gets only events of that type.", "section 16"),
        Rule(
            "part:opens-empty",
            "A part has no text, annotations or log probabilities when it is added.",
            "section 17 rule 4",
            "should",
        ),
        Rule("part:done-equals-text", "A done part says what its text's `done` said.", "section 16"),
        Rule("summary:index-next", "Summary indexes of an item are 0, 1, 2 in the order of opening.", "section 16"),
        Rule(
            "summary:events-inside-life",
            "A summary part's events come after its `added` and before its `done`.",
            "section 16",
        ),
        Rule("summary:done-once", "A summary part is done once, before its item.", "section 16"),
        Rule("summary:done-equals-text", "A done summary part says what its text's `done` said.", "section 16"),
        Rule(
            "command:index-next", "Command indexes of a shell call are 0, 1, 2 in the order of opening.", "section 16"
        ),
        Rule(
            "command:events-inside-life",
            "A command's events come after its `added` and before its `done`.",
            "section 16",
        ),
        Rule("command:done-once", "A shell call's command is done once, before its item.", "section 16"),
        # Text, of every kind that comes in deltas.
        Rule("text:done-equals-deltas", "What `done` says is the deltas joined.", "section 16"),
        Rule(
            "text:deltas-first", "A text that is not empty comes in deltas before its `done`.", "section 16", "should"
        ),
        Rule(
            "text:done-once",
            "A text that was begun is done once, before its part or item, and grows no more.",
            "section 17 rule 4",
        ),
        Rule(
            "text:logprobs-listed",
            "Deltas and `done` of output text have a list of log probabilities.",
            "section 4",
            "should",
        ),
        Rule(
            "text:logprobs-equal-deltas",
            "`done`'s log probabilities are those of the deltas, and so are the part's.",
            "section 16",
        ),
        Rule(
            "annotation:index-next",
            "Annotation indexes of a part are 0, 1, 2 in the order of their coming.",
            "section 16",
        ),
        Rule("annotation:part-equals-added", "A done part has the annotations that were added.", "section 16"),
        Rule(
            "annotation:fields",
            "An annotation has the fields of its type, each of its JSON type.",
            "section 5",
            "should",
        ),
        Rule("annotation:in-text", "An annotation's indexes lie inside its text.", "section 5"),
        # Items whole again.
        Rule("item:content-equals-parts", "A done item's content is its done parts.", "section 16"),
        Rule("item:summary-equals-parts", "A done reasoning item's summary is its done summary parts.", "section 16"),
        Rule(
            "item:equals-text",
            "A done call has the arguments, input, code, diff, commands or output streamed.",
            "section 16",
        ),
        # Hosted tools.
        Rule("tool:order", "A hosted tool's steps come in their order.", "section 16"),
        Rule("tool:step-once", "A hosted tool takes each of its steps once.", "section 16", "should"),
        Rule(
            "tool:steps-complete", "A hosted tool's completed item has gone through every step.", "section 16", "should"
        ),
        Rule("tool:end-matches-status", "A hosted tool's item ends as its last step says.", "section 16"),
        Rule("tool:fields", "A hosted tool's done item has the fields of its type.", "section 5"),
        Rule("tool:alone", "No other item is open while a hosted tool's is.", "section 16", "should"),
        Rule("mcp:list-first", "The tools of MCP servers are listed before any other item.", "section 16", "should"),
        Rule("mcp:list-once", "An MCP server's tools are listed once in a response.", "section 16", "should"),
        Rule("mcp:list-outcome", "A list of tools has either tools or an error, in words.", "section 5"),
        Rule(
            "mcp:call-outcome",
            "A completed MCP call has no error, and a failed one no output.",
            "section 16",
        ),
        Rule(
            "mcp:call-error",
            "An MCP call's error is an object: of the protocol, of the tool's execution, or of HTTP.",
            "section 5",
            "should",
        ),
        Rule("mcp:arguments-kept", "An approved MCP call has the arguments with which it was added.", "section 16"),
        Rule("mcp:request-whole", "A request for approval is whole when it is added.", "section 16", "should"),
        Rule("image:partial-index-next", "Partial images are numbered 0, 1, 2.", "section 4", "should"),
        # The end.
        Rule("output:equals-done-items", "The terminal response's output is the done items in order.", "section 7"),
        Rule("output:same-content", "An item in the terminal response is as it was when done.", "section 7"),
    )
}
"""Every rule by its id."""


class Breach(NamedTuple):
    """One place where a rule is broken."""

    rule: str
    message: str
    event: Event | None = None


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a stream breaks, `times` over; message and sequence number are of the first breach."""

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


def shown(value: Any) -> str:
    """Return a value for a message, cut to 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def violations(breaches: Iterable[Breach]) -> list[Violation]:
    """Return one violation for each rule broken, in the order of the rules."""
    first: dict[str, Breach] = {}
    times: dict[str, int] = {}
    for breach in breaches:
        first.setdefault(breach.rule, breach)
        times[breach.rule] = times.get(breach.rule, 0) + 1
    return [_violation(first[rule], times[rule]) for rule in RULES if rule in first]


def _violation(breach: Breach, times: int) -> Violation:
    number = breach.event.get("sequence_number") if breach.event else None
    return Violation(breach.rule, breach.message, number if type(number) is int else None, times)
