"""What servers acknowledged to the clients of a simulation."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from simulation.promises import Reading

OPEN = ("queued", "in_progress")


@dataclass(slots=True)
class Record:
    """What was acknowledged."""

    questions: dict[str, str] = field(default_factory=dict)
    """The question of each response, by its id."""
    background: set[str] = field(default_factory=set)
    bodies: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The responses that were returned after their end."""
    ends: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The final states that were returned."""
    ended_at: dict[str, float] = field(default_factory=dict)
    """When the end of a stream was received."""
    cancelled: set[str] = field(default_factory=set)
    readings: list[Reading] = field(default_factory=list)
    keyed: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    turns: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    chains: list[list[str]] = field(default_factory=list)
    """The questions of responses of which each continues the one before."""
    failed: list[str] = field(default_factory=list)
    """Questions of plain responses for which clients received an error of the server."""
    acts: dict[str, str] = field(default_factory=dict)
    """The question of each response of the agent, by its id."""
    secrets: dict[str, str] = field(default_factory=dict)
    """The API key that created each response and conversation."""
    refused: list[str] = field(default_factory=list)
    """Replies that no fault explains."""
