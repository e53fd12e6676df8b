"""The list of responses."""

from typing import Any

from antiphon_verify.replies import Reply, states
from antiphon_verify.replies.bodies import RESPONSE

FIRST, ONE, TWO = (states({**RESPONSE, "id": f"resp_{name}"}) for name in ("first", "one", "two"))


def page(*names: str, has_more: bool = False) -> Reply:
    """Return a page of responses with these ids."""
    data: list[dict[str, Any]] = [
        {"id": f"resp_{name}", "object": "response.summary"} for name in names
    ]
    return states({"object": "list", "data": data, "has_more": has_more})


CREATED = [FIRST, ONE, TWO]
ALL = page("two", "one", "first", "other")
TAGGED = page("one", "two")
PAGES = [page("one", has_more=True), page("two")]
DELETED = states({"id": "resp_first", "deleted": True})
