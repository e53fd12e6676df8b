"""Lists as `/admin/v1` returns them."""

from collections.abc import Sequence

from antiphon.gateway import JsonObject


def listed(data: Sequence[JsonObject], limit: int | None = None) -> JsonObject:
    """Return a list of objects with ids. One more than `limit` shows that more follow, and is dropped."""
    shown = data[:limit]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": len(data) > len(shown),
    }
