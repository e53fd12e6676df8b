"""One backend as those see it who choose between several."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from antiphon.engine.routing.health import Health
from antiphon.engine.routing.sightings import NOTHING, Sighting
from antiphon.engine.routing.slots import Slots

ANY = "*"
"""Among a backend's models: whatever name is asked for."""


@dataclass(frozen=True, slots=True)
class Share:
    """What an operator leaves to a backend."""

    models: frozenset[str] = frozenset()
    """Names that it serves, `*` for any; empty for those that it lists."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Names that clients use, and what it calls the model itself."""
    weight: float = 1.0
    concurrency: int = 0
    """Requests at once; 0 for any number."""
    queue: int = 100
    """Requests that may wait beyond."""
    api: Literal["auto", "chat", "responses"] = "chat"
    """The API that it is asked by; `auto` leaves that to its family, or to a probe."""


class Station:
    """A backend's share, its health, its slots, and what was last seen of it."""

    def __init__(self, name: str, share: Share) -> None:
        self.name = name
        self.share = share
        self.health = Health()
        self.slots = Slots(share.concurrency, share.queue)
        self.sighting: Sighting = NOTHING
        self.asked = 0
        self.failed = 0
        self.turn = 0.0

    def reassign(self, share: Share) -> None:
        """Give it another share; who is being served stays so."""
        self.share = share
        self.slots.concurrency, self.slots.bound = share.concurrency, share.queue
