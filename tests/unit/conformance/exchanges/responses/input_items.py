"""Input items."""

from typing import Any

from antiphon_verify.areas.responses import input_items
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown, spoiled
from tests.unit.conformance.exchanges.bodies import RESPONSE

CREATED = says(RESPONSE)


def item(text: str, role: str = "user") -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"id": f"msg_{text[:2]}", "type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def page(*items: dict[str, Any], has_more: bool = False) -> Answer:
    ids = [one["id"] for one in items]
    return says({"object": "list", "data": list(items), "first_id": ids[0], "last_id": ids[-1], "has_more": has_more})


ONE, TWO, THREE = (item(turn["content"], turn["role"]) for turn in input_items.TURNS)

TEXT = page(item("Say hello."))

NEWEST, OLDEST, HALF, REST = page(THREE, TWO, ONE), page(ONE, TWO, THREE), page(ONE, TWO, has_more=True), page(THREE)

GONE = error("Response with id 'resp_0' not found.", 404)

REFUSED = error("Invalid 'limit'.")

EXCHANGES: dict[str, Shown] = {
    **shown(
        input_items.a_text_is_listed,
        [CREATED, TEXT],
        {
            "responses:input-items:list": [CREATED, TEXT.patched("object", to="page")],
            "responses:input-items:paging-keys": [CREATED, TEXT.without("has_more")],
            "responses:input-items:page-ends": [CREATED, TEXT.patched("last_id", to="msg_0")],
            "responses:input-items:ids": [CREATED, TEXT.without("data", 0, "id")],
            "responses:input-items:message": [CREATED, TEXT.patched("data", 0, "content", to="Say hello.")],
        },
    ),
    **shown(
        input_items.items_are_paged,
        [CREATED, NEWEST, OLDEST, HALF, REST],
        {
            "responses:input-items:newest-first": [CREATED, OLDEST, OLDEST, HALF, REST],
            "responses:input-items:ascending": [CREATED, NEWEST, NEWEST, HALF, REST],
            "responses:input-items:limit": [CREATED, NEWEST, OLDEST, OLDEST, REST],
            "responses:input-items:after": [CREATED, NEWEST, OLDEST, HALF, HALF],
        },
    ),
    **shown(
        input_items.wrong_queries_are_refused,
        [CREATED, REFUSED, REFUSED, REFUSED],
        {
            "responses:input-items:limit-zero": [CREATED, TEXT],
            "responses:input-items:limit-high": [CREATED, REFUSED, TEXT],
            "responses:input-items:order-word": [CREATED, REFUSED, REFUSED, TEXT],
        },
    ),
    **spoiled(
        input_items.items_are_deleted_with_their_response,
        [CREATED, TEXT, says({}), GONE],
        [CREATED, TEXT, says({}), TEXT],
    ),
    **shown(
        input_items.items_of_nothing_are_not_found, [CREATED, GONE], {"responses:input-items:unknown": [CREATED, TEXT]}
    ),
}
