"""Keeps the journal of responses: which one is made, by which backend, and how it ended."""

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from antiphon.engine.measuring import OTHER
from antiphon.engine.observers import Call, Observer
from antiphon.engine.routing.backend_state import is_listed
from antiphon.telemetry.context import about, note
from antiphon.telemetry.formatters import fields

if TYPE_CHECKING:
    from antiphon.engine.run import Run

log = logging.getLogger("antiphon.access")


@dataclass(slots=True)
class Noting(Observer):
    """Notes what the lines of the log say of a response.

    What one HTTP request asks for is told in the line of that request; what came over a WebSocket or was made in the
    background gets one of its own.
    """

    _began: dict["Run", float] = field(default_factory=dict)

    def queued(self, response_id: str) -> None:
        """See `Observer.queued`."""
        note(response_id=response_id, outcome="queued")

    def began(self, run: "Run") -> None:
        """See `Observer.began`."""
        note(response_id=run.response.id, backend="", model="", cache="", outcome="")
        self._began[run] = time.monotonic()

    def asked(self, call: Call) -> None:
        """See `Observer.asked`."""
        note(backend=call.backend)

    def ended(self, run: "Run") -> None:
        """See `Observer.ended`."""
        took = (time.monotonic() - self._began.pop(run)) * 1000
        note(outcome=run.outcome, cache=run.cache or "")
        if log.isEnabledFor(logging.INFO):
            note(model=_model(run))
        if not about().is_exchange:
            kind = "background" if run.is_background else "message"
            log.info("%s %.0f ms", kind, took, extra=fields(kind=kind, ms=round(took, 1)))


def _model(run: "Run") -> str:
    name, offers = run.target.name, run.target.state.offers()
    return next((one["id"] for one in offers if is_listed(name, [one["id"]])), OTHER)
