"""Pages of lists as API objects, and the error for a page that begins nowhere."""

from collections.abc import Mapping, Sequence
from typing import Any

from antiphon.errors import ClientError


def page_of(data: Sequence[Mapping[str, Any]], *, has_more: bool) -> dict[str, Any]:
    """Return objects as a page of a list."""
    first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
    return {"object": "list", "data": data, "first_id": first, "last_id": last, "has_more": has_more}


def unknown_bound(name: str, bound: str | None, what: str) -> ClientError:
    """Return the error for a bound, `after` or `before`, that is not in the list of such objects."""
    return ClientError(f"Invalid '{name}': no {what} with id '{bound}'.", code="invalid_value", param=name)
