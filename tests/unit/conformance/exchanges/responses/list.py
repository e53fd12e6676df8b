"""The list of responses."""

from typing import Any

from antiphon_verify.areas.responses import list as area
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown
from tests.unit.conformance.exchanges.bodies import RESPONSE

FIRST, ONE, TWO = (says({**RESPONSE, "id": f"resp_{name}"}) for name in ("first", "one", "two"))


def page(*names: str, has_more: bool = False) -> Answer:
    data: list[dict[str, Any]] = [{"id": f"resp_{name}", "object": "response.summary"} for name in names]
    return says({"object": "list", "data": data, "has_more": has_more})


CREATED = [FIRST, ONE, TWO]
ALL, TAGGED = page("two", "one", "first", "other"), page("one", "two")
PAGES = [page("one", has_more=True), page("two")]
DELETED = says({"id": "resp_first", "deleted": True})

EXCHANGES: dict[str, Shown] = {
    **shown(
        area.responses_are_listed,
        [*CREATED, ALL, TAGGED, *PAGES],
        {
            "responses:list:listed": [*CREATED, page("two", "first"), TAGGED, *PAGES],
            "responses:list:filtered": [*CREATED, ALL, page("one", "two", "first"), *PAGES],
            "responses:list:order": [*CREATED, page("one", "two", "first"), TAGGED, *PAGES],
            "responses:list:paged": [*CREATED, ALL, TAGGED, PAGES[0], PAGES[0]],
        },
    ),
    **shown(
        area.an_unknown_filter_is_refused,
        [error("Unknown filter 'colour'.")],
        {"responses:list:bad-filter": [ALL]},
    ),
    **shown(
        area.a_deleted_response_is_not_listed,
        [FIRST, DELETED, page("one")],
        {"responses:list:deleted": [FIRST, DELETED, ALL]},
    ),
}
