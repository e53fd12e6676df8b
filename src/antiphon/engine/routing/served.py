"""One backend as those see it who choose between several."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from antiphon.engine.routing.health import Health
from antiphon.engine.routing.names import is_listed
from antiphon.engine.routing.sightings import NOTHING, Sighting
from antiphon.engine.routing.slots import Slots
from antiphon.translation.dialects import Api, Dialect
from antiphon.upstream.backend import Backend

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
    label: str = ""
    """What clients are told it is called; empty for its name."""
    api: Literal["auto", "chat", "responses"] = "chat"
    """The API that it is asked by; `auto` leaves that to its family, or to a probe."""
    cache: bool = False
    """Its answers are kept, to be given again."""


class Served:
    """A backend, what it is to serve, what it said of itself, what it does now, and how it fared.

    All of it is known by the backend's name: it stays where the settings are read again.
    """

    def __init__(self, backend: Backend, dialect: Dialect, share: Share) -> None:
        self.backend = backend
        self.share = share
        self.slots = Slots()
        self.dialect = dialect
        self.health = Health()
        self.models: list[dict[str, Any]] = []
        """As it listed them last."""
        self.error = "not asked yet"
        """Why its models could not be listed; empty where they were."""
        self.probed: Api | None = None
        """The API that the server itself told, once it did."""
        self.sighting: Sighting = NOTHING
        self.asked = 0
        """Questions that it was asked, those that follow from one response each for itself."""
        self.failed = 0
        """How many of them came to nothing through its own fault."""
        self.turn = 0.0
        """See `Candidate.turn`."""

    @property
    def name(self) -> str:
        """What the operator calls it."""
        return self.backend.name

    @property
    def dialect(self) -> Dialect:
        """Its family."""
        return self._dialect

    @dialect.setter
    def dialect(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._resize()

    @property
    def label(self) -> str:
        """What clients are told it is called."""
        return self.share.label or self.backend.name

    @property
    def is_probed(self) -> bool:
        """Whether only the server itself can tell by which API to ask it."""
        return self._wanted == "probe"

    @property
    def api(self) -> Api:
        """The API that it is asked by: as configured, else as its family says, else as it says itself."""
        wanted = self._wanted
        return (self.probed or "chat") if wanted == "probe" else wanted

    @property
    def _wanted(self) -> Api | Literal["probe"]:
        return self.dialect.api if self.share.api == "auto" else self.share.api

    def reassign(self, share: Share) -> None:
        """Leave it another share; who is being served stays so."""
        self.share = share
        self._resize()

    def _resize(self) -> None:
        """Ask it as much at once as was said, or only ever one thing."""
        self.slots.resize(1 if self.dialect.one_at_a_time else self.share.concurrency, self.share.queue)

    def called(self, name: str) -> str | None:
        """Return what this backend calls the model of this name, None where it does not say that it has it."""
        if name in self.share.aliases:
            return self.share.aliases[name]
        if named := self.share.models - {ANY}:
            return name if name in named else None
        return name if is_listed(name, (model["id"] for model in self.models)) else None

    def offers(self) -> list[dict[str, Any]]:
        """Return the models that clients are told of."""
        named = self.share.models - {ANY}
        listed = {model["id"]: model for model in self.models if not named or model["id"] in named}
        more = [{"id": name} for name in (*self.share.aliases, *sorted(named)) if name not in listed]
        return [*listed.values(), *more]
