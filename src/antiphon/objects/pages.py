"""What the objects of the API have in common: pages of lists, and the errors for unknown ids."""

from collections.abc import Sequence
from typing import Any

from antiphon.errors import ClientError

JsonObject = dict[str, Any]
"""An object of the API."""

LONGEST_ID = 100
"""Maximum number of characters of an id that an error repeats."""


def page_of(data: Sequence[Any], *, has_more: bool, ids: Sequence[str] | None = None) -> JsonObject:
    """Return objects as a page of a list.

    `ids` identify them in the list; by default their `id` does.
    """
    if ids is not None:
        first, last = (ids[0], ids[-1]) if ids else (None, None)
    else:
        first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
    return {
        "object": "list",
        "data": data,
        "first_id": first,
        "last_id": last,
        "has_more": has_more,
    }


def not_found(what: str, object_id: str) -> ClientError:
    """Return the error for an unknown object (specification section 13).

    `what` begins the sentence: "Response".
    """
    return ClientError(f"{what} with id '{object_id[:LONGEST_ID]}' not found.", status=404)


def unknown_bound(name: str, bound: str | None, what: str) -> ClientError:
    """Return the error for a bound, `after` or `before`, that is not in the list of `what`."""
    return ClientError(
        f"Invalid '{name}': no {what} with id '{bound}'.", code="invalid_value", param=name
    )
