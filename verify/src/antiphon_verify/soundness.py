"""The rules of a Responses event stream as requirements, and a whole stream judged by all of them.

The rules are those of `events/`. A rule that does not apply to a stream, such as the order of a
hosted tool's steps, is not judged.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from antiphon_verify.events.check import check_event_stream
from antiphon_verify.events.rules import RULES, Rule, Violation
from antiphon_verify.events.streams import STREAMS, event
from antiphon_verify.exchange import Request
from antiphon_verify.place import at_event
from antiphon_verify.reading import at
from antiphon_verify.replies import Reply, streams
from antiphon_verify.requirement import Requirement
from antiphon_verify.trial import Trial

ENDS = ("response.completed", "response.incomplete", "response.failed")

CALLS = (
    *(
        "response.function_call_arguments",
        "response.custom_tool_call_input",
        "response.mcp_call_arguments",
    ),
    *("response.code_interpreter_call_code", "response.apply_patch_call", "response.shell_call"),
)

CONTENT = (
    "response.content_part",
    "response.output_text",
    "response.refusal",
    "response.reasoning_text",
)

HOSTED = (
    *("response.web_search_call", "response.file_search_call", "response.code_interpreter_call."),
    *("response.image_generation_call", "response.mcp_call.", "response.mcp_list_tools"),
)

PROVEN_BY: dict[str, tuple[str, ...]] = {
    "terminal": ENDS,
    "failed:error-set": ENDS,
    "failed:error-before": ("response.failed",),
    "error": ("error",),
    "incomplete:reason": ENDS,
    "incomplete:item": ("response.incomplete",),
    "incomplete": ("response.output_item",),
    "usage": ("response.completed", "response.incomplete"),
    "item:content-equals-parts": ("response.content_part",),
    "item:summary-equals-parts": ("response.reasoning_summary_part",),
    "item:equals-text": CALLS,
    "item": ("response.output_item",),
    "part": CONTENT,
    "summary": ("response.reasoning_summary",),
    "command": ("response.shell_call_command",),
    "text:logprobs-listed": ("response.output_text",),
    "text:logprobs-equal-deltas": ("response.output_text",),
    "text": (*CONTENT[1:], *CALLS, "response.reasoning_summary_text"),
    "annotation": ("response.output_text.annotation",),
    "tool": HOSTED,
    "mcp:list-first": ("response.mcp_list_tools",),
    "mcp:list-once": ("response.mcp_list_tools",),
    "mcp:list-outcome": ("response.mcp_list_tools",),
    "mcp:request-whole": ("mcp_approval_request",),
    "mcp": ("response.mcp_call.",),
    "image": ("response.image_generation_call.partial_image",),
    "output": ENDS,
}
"""By a rule or the first words of some: the prefixes of the event or item types that exercise it.

Any stream exercises the rules that are not here.
"""


def stream_id(rule: str) -> str:
    """Return the requirement's id for a rule: `responses:stream:item-done-once` for
    `item:done-once`.
    """
    return f"responses:stream:{rule.replace(':', '-')}"


def _row(rule: Rule) -> Requirement:
    """Return a rule as a requirement; its fault is the stream that its mutation makes."""

    def broken(request: Request) -> Reply:
        return streams(rule.fault.apply(STREAMS) or [event("none")])

    def sound(request: Request) -> Reply:
        return streams(STREAMS[rule.fault.stream])

    return Requirement(
        stream_id(rule.id), rule.level, _source(rule), rule.sentence, fault=[broken], good=[sound]
    )


def _source(rule: Rule) -> str:
    if rule.source.startswith("section 17 rule "):
        return f"open-responses {rule.source.rpartition(' ')[2]}"
    return rule.source.replace("section", "spec")


STREAM_ROWS = tuple(map(_row, RULES.values()))
"""The requirements that `judge_stream` judges."""

STREAM_IDS = tuple(row.id for row in STREAM_ROWS)
"""Their ids, which a case that calls `judge_stream` names as its asides."""


def judge_stream(trial: Trial, events: Iterable[dict[str, Any]]) -> None:
    """Judge a whole stream, from `response.created` to its end, by every rule that it exercises."""
    events = list(events)
    broken = {violation.rule: violation for violation in check_event_stream(events)}
    things = (thing for event in events for thing in (event, event.get("item")))
    roots = roots_of(events, broken)
    types = {name for thing in things if isinstance(name := at(thing, "type"), str)}
    for rule in RULES:
        if rule in broken or _is_proven(rule, types):
            violation = broken.get(rule)
            place = at_event(events, violation.sequence_number) if violation else ""
            root = stream_id(roots[rule]) if rule in roots else ""
            trial.expect(stream_id(rule), violation is None, str(violation or ""), place, root)


LIFE = {"item", "part", "summary", "text", "annotation", "command", "tool", "mcp", "image"}
"""First words of the rules about the events of one item."""

FOLLOWS = {"error:then-failed": "stream:one-terminal"}
"""By a rule: the one that breaks from the same cause at the same event."""


def roots_of(events: Sequence[dict[str, Any]], broken: Mapping[str, Violation]) -> dict[str, str]:
    """Return, by a broken rule, the one that the same cause had broken before it.

    One fault of an item breaks several rules: its first broken `must` is the root of the others,
    and of what is wrong with the output of the response.
    """
    indexes = {event.get("sequence_number"): event.get("output_index") for event in events}
    firsts: dict[Any, str] = {}
    roots: dict[str, str] = {}
    for rule, violation in sorted(broken.items(), key=lambda one: one[1].sequence_number or 0):
        number = violation.sequence_number
        family = rule.partition(":")[0]
        index = indexes.get(number) if number is not None else None
        if family in LIFE and index is not None:
            is_root = violation.level == "must"
            roots[rule] = firsts.setdefault(index, rule) if is_root else firsts.get(index, "")
        elif family == "output":
            roots[rule] = next(iter(firsts.values()), "")
        elif (
            cause := broken.get(FOLLOWS.get(rule, ""))
        ) is not None and cause.sequence_number == number:
            roots[rule] = cause.rule
    return {rule: root for rule, root in roots.items() if root and root != rule}


def _is_proven(rule: str, types: set[str]) -> bool:
    prefixes = PROVEN_BY.get(rule) or PROVEN_BY.get(rule.partition(":")[0]) or ("",)
    return any(name.startswith(prefixes) for name in types)
