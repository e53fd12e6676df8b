"""Requirements as data: one sentence, its level, its source, a fault that its case must find; and
the verdict on it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from antiphon_verify.exchange import Exchange, Request
from antiphon_verify.replies import Replies

SECTIONS = {
    0: "headlines",
    1: "endpoints",
    2: "parameters",
    3: "the response object",
    4: "stream events",
    5: "items",
    6: "tools",
    7: "server-sent events",
    8: "WebSocket mode",
    9: "background, resume, cancel",
    10: "state and storage",
    11: "compaction",
    12: "webhooks",
    13: "errors",
    14: "headers",
    15: "prompt caching",
    16: "orders of events",
    17: "Open Responses",
    18: "adjacent endpoints",
    24: "amendments of November 2026",
}
"""The sections of the Responses API's specification that a `spec` source names by number."""

SOURCES = {
    "spec": "The Responses API as of November 2026: the types of the official SDKs, "
    "OpenAI's documentation, and what was observed of OpenAI's server.",
    "chat-api": "OpenAI's reference of the Chat Completions API, with the types of the official "
    "SDKs.",
    "messages": "Anthropic's Messages API: the types of its SDKs, its documentation, and 526 "
    "recorded streams.",
    "open-responses": "The rules of the Open Responses specification.",
    "sse": "Server-sent events in the HTML standard.",
    "http": "HTTP and WebSocket: RFC 9110, RFC 9112, RFC 6455 and the Fetch standard.",
    "client": "What clients require, found by breaking one thing at a time.",
    "antiphon": "What Antiphon documents of its extensions, such as agents.",
    "issue": "A thread in the issue tracker of a server or a client, in which users report a loss.",
}
"""The meaning of the first word of a source."""


def explained(source: str) -> str:
    """Return a source for a reader: `spec 13 (errors)`."""
    kind, _, detail = source.partition(" ")
    number = detail.partition(",")[0].partition(" ")[0]
    named = {str(section): name for section, name in SECTIONS.items()}
    return f"{source} ({named[number]})" if kind == "spec" and number in named else source


Level = Literal["must", "should", "may"]
"""`must`: clients break without it. `should`: OpenAI does so, and some clients rely on it. `may`:
optional.
"""

Kind = Literal["protocol", "capability"]
"""`protocol` holds whatever the model answers; `capability` depends on the model, and is judged
separately.
"""

LEVELS: tuple[Level, ...] = ("must", "should", "may")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement on a server: a row, which the case that judges it declares.

    `id` is `api:area:name`, such as `responses:stream:item-done-once`. `source` is a key of
    `SOURCES`, followed by a detail if one is known: `spec 13`, `open-responses 4`, `chat-api
    streaming`, `issue ollama#15954`. `fault` are replies to its case that violate it; `good` are
    replies that meet it, if those of the case do not show that.
    """

    id: str
    level: Level
    source: str
    sentence: str
    kind: Kind = "protocol"
    fault: Replies = field(default=(), compare=False, repr=False)
    good: Replies = field(default=(), compare=False, repr=False)

    @property
    def area(self) -> str:
        """`responses:stream` for `responses:stream:item-done-once`."""
        return self.id.rpartition(":")[0]


def must(
    id: str, source: str, sentence: str, *, fault: Replies = (), good: Replies = ()
) -> Requirement:
    """Return a requirement without which clients break."""
    return Requirement(id, "must", source, sentence, fault=fault, good=good)


def should(
    id: str, source: str, sentence: str, *, fault: Replies = (), good: Replies = ()
) -> Requirement:
    """Return a requirement that OpenAI meets and some clients rely on."""
    return Requirement(id, "should", source, sentence, fault=fault, good=good)


def may(
    id: str, source: str, sentence: str, *, fault: Replies = (), good: Replies = ()
) -> Requirement:
    """Return a requirement that is optional for a server."""
    return Requirement(id, "may", source, sentence, fault=fault, good=good)


def capability(requirement: Requirement) -> Requirement:
    """Return the requirement as one that depends on the model."""
    return replace(requirement, kind="capability")


CaseOutcome = Literal["passed", "failed", "blocked", "skipped", "not offered"]

OUTCOMES: tuple[CaseOutcome, ...] = ("failed", "blocked", "passed", "skipped", "not offered")
"""Heavier outcomes come first: a requirement that fails in one case fails."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """An outcome, and its reason: what was wrong, why it was skipped, how the server reports a
    missing feature.
    """

    outcome: CaseOutcome
    came: str = ""
    seen: int = 0
    """How many exchanges the case had had: the last of them decided it."""
    place: str = ""
    """What in the exchange decided it: the number of an event, the path of a field, and its
    value.
    """
    root: str = ""
    """The requirement that has failed from the same cause, if it has failed in this case."""
    is_end: bool = False
    """Whether the case could not continue: this is the verdict on all that it had not judged."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A request to find out what a rejection means, and the rule that decides it from the
    response.
    """

    request: Request
    settle: Callable[[Exchange], Verdict]


class Stop(Exception):  # noqa: N818 - not an error in the suite
    """A case ends here; `verdict` applies to all it has not judged yet, unless a `doubt` must be
    settled first.
    """

    def __init__(self, outcome: CaseOutcome, came: str, doubt: Doubt | None = None) -> None:
        super().__init__(came)
        self.verdict = Verdict(outcome, came)
        self.doubt = doubt


def weightiest(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the final verdict of one requirement's verdicts in all cases: the first of the
    heaviest ones.
    """
    return min(verdicts, key=lambda verdict: OUTCOMES.index(verdict.outcome))
