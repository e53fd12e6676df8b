"""What is asked of a server, as data: a requirement is one sentence, its level and who says so."""

from dataclasses import dataclass, replace
from typing import Literal

Level = Literal["must", "should", "may"]
"""`must`: clients break without it. `should`: OpenAI does so, and some clients rely on it. `may`: a matter of taste."""

Kind = Literal["protocol", "capability"]
"""`protocol` holds whatever the model says; `capability` needs a model that can, and is judged apart."""

LEVELS: tuple[Level, ...] = ("must", "should", "may")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing asked of a server.

    `id` is `api:area:name`, such as `responses:stream:item-done-once`. `source` is a key of `sources.SOURCES`, with a
    detail behind it where one is known: `spec 13`, `open-responses 4`, `chat-api streaming`, `issue ollama#15954`.
    """

    id: str
    level: Level
    source: str
    sentence: str
    kind: Kind = "protocol"

    @property
    def area(self) -> str:
        """`responses:stream` of `responses:stream:item-done-once`."""
        return self.id.rpartition(":")[0]


Table = tuple[Requirement, ...]
"""The requirements of one file."""


def must(id: str, source: str, sentence: str) -> Requirement:
    """Return a requirement without which clients break."""
    return Requirement(id, "must", source, sentence)


def should(id: str, source: str, sentence: str) -> Requirement:
    """Return a requirement that OpenAI keeps and some clients rely on."""
    return Requirement(id, "should", source, sentence)


def may(id: str, source: str, sentence: str) -> Requirement:
    """Return a requirement that a server is free to break."""
    return Requirement(id, "may", source, sentence)


def capability(requirement: Requirement) -> Requirement:
    """Return the requirement as one that needs a model that can."""
    return replace(requirement, kind="capability")
