"""The facts that a probing has found so far, and the form of its questions."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field

from antiphon.translation.dialects.dialect import Dialect
from antiphon.upstream.probing.answers import ProbeAnswer

Body = dict[str, Any]
Facts = Mapping[str, Any]


class Findings(Struct):
    """The facts found while a model is probed."""

    dialect: Dialect
    facts: dict[str, Any] = field(default_factory=dict)
    """Facts by their names in `ModelProfile`."""
    evidence: dict[str, str] = field(default_factory=dict)
    """By fact: the question that decided it."""
    schema_form: str = ""
    """The form of `response_format` in which the backend accepts a schema; empty if none is
    known.
    """
    notes: set[str] = field(default_factory=set)
    """Findings that are not facts themselves, and decide which questions follow."""
    quiet: Body = field(default_factory=dict)
    """Parameters that disable thinking, once known: the other answers are then shorter."""

    def add(self, facts: Facts, question: str) -> None:
        """Add the findings of a question."""
        self.facts.update(facts)
        self.evidence.update(dict.fromkeys(facts, question))

    @property
    def calls_tools(self) -> bool:
        """Whether calls arrive as calls."""
        return self.facts.get("tools") == "native" and not self.facts.get("text_calls")


class Probe(Struct, frozen=True):
    """One question."""

    name: str
    tokens: int
    """Token limit of its answer."""
    send_request: Callable[[Findings], Body | None]
    """Returns the request without the model and the limit; None to skip the probe."""
    judge: Callable[[ProbeAnswer, Findings], Facts]
    """Returns the facts that the answer decides."""


def stated(text: str, role: str = "user") -> Body:
    """Return a message."""
    return {"role": role, "content": text}
