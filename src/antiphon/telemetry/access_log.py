"""Writes the log of responses: which one ran, at which backend, and how it ended."""

import logging
import time
from dataclasses import dataclass

from msgspec.structs import replace

from antiphon.telemetry.context import current, note
from antiphon.telemetry.formatters import fields
from antiphon.telemetry.kinds import OTHER
from antiphon.telemetry.observers import ObservedCall, Observer, ResponseRecord
from antiphon.upstream.backend_state import ModelTarget
from antiphon.upstream.options import is_listed

log = logging.getLogger("antiphon.access")


@dataclass(slots=True)
class AccessLog(Observer):
    """Records what the log lines report about a response.

    The line of an HTTP request describes the response that it created. A response from a WebSocket,
    from a direct call of a program, or from the background has a line of its own.
    """

    def queued(self, response_id: str) -> None:
        """See `Observer.queued`."""
        note(response_id=response_id, outcome="queued")

    def began(self, record: ResponseRecord) -> None:
        """See `Observer.began`."""
        known = replace(
            current.get(),
            response_id=record.response.id,
            backend="",
            model="",
            cache="",
            outcome="",
            corrected="",
        )
        current.set(known)

    def requested(self, call: ObservedCall) -> None:
        """See `Observer.requested`."""
        current.set(replace(current.get(), backend=call.target.state.name))

    def ended(self, record: ResponseRecord) -> None:
        """See `Observer.ended`."""
        known = replace(current.get(), outcome=record.outcome, cache=record.cache or "")
        if record.notes:
            known = replace(
                known, corrected=", ".join(f"{kind} {done}" for kind, done in record.notes)
            )
        if log.isEnabledFor(logging.INFO):
            known = replace(known, model=_model(record.target))
        current.set(known)
        if not known.is_exchange:
            took = (time.monotonic() - record.began) * 1000
            kind = "background" if record.is_background else "message"
            what = "background response" if record.is_background else "response"
            log.info(
                "%s %s %.0f ms",
                what,
                record.outcome,
                took,
                extra=fields(kind=kind, ms=round(took, 1)),
            )


def _model(target: ModelTarget) -> str:
    name = target.name
    offers = target.state.offers()
    return next((one["id"] for one in offers if is_listed(name, [one["id"]])), OTHER)
