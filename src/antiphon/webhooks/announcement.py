"""The event that webhooks receive when a background response has ended (specification section
12).
"""

import msgspec

from antiphon.ids import Clock, NewId
from antiphon.protocol.response import Response
from antiphon.storage.records.tenants import Announcement


def announcement(new_id: NewId, now: Clock, response_id: str, status: str) -> Announcement:
    """Return the event for a response that ended with this status."""
    event_id = new_id("evt")
    created_at = int(now())
    kind = f"response.{status}"
    body = {
        "id": event_id,
        "object": "event",
        "created_at": created_at,
        "type": kind,
        "data": {"id": response_id},
    }
    return Announcement(event_id, kind, created_at, msgspec.json.encode(body))


def announcement_of(new_id: NewId, now: Clock, response: Response) -> Announcement | None:
    """Return the event for a response that has ended. That of an agent in the foreground has none,
    like that of a model: its client waits for it.
    """
    return announcement(new_id, now, response.id, response.status) if response.background else None
