"""Lists as `/admin/v1` returns them."""

from collections.abc import Sequence

from antiphon.gateway import JsonObject


def listed(data: Sequence[JsonObject], limit: int | None = None) -> JsonObject:
    """Return a list of objects with ids.

    One more than `limit` shows that more follow, and is dropped.
    """
    displayed = data[:limit]
    return {
        "object": "list",
        "data": displayed,
        "first_id": displayed[0]["id"] if displayed else None,
        "last_id": displayed[-1]["id"] if displayed else None,
        "has_more": len(data) > len(displayed),
    }
