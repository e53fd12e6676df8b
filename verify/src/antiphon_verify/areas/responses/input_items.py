"""Input items and their pages."""

from typing import Any

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.case import case
from antiphon_verify.reading import MISSING, at, is_text, listed, preview, unlike
from antiphon_verify.replies import states
from antiphon_verify.replies.responses import input_items as replies
from antiphon_verify.replies.responses.input_items import TURNS
from antiphon_verify.requirement import must, should
from antiphon_verify.trial import Steps, Trial


def texts_of(page: Any) -> list[str]:
    """Return the text of each item of a page; content can be a string or a list of parts."""
    contents = [at(item, "content") for item in listed(page, "data")]
    return [str(one if isinstance(one, str) else at(one, 0, "text")) for one in contents]


@case(
    must(
        "responses:input-items:list",
        "spec 1",
        "Input items are returned as a list object with `data`.",
        fault=[replies.CREATED, replies.TEXT.patched("object", to="page")],
    ),
    must(
        "responses:input-items:paging-keys",
        "spec 1",
        "The list has `first_id`, `last_id` and a boolean `has_more`.",
        fault=[replies.CREATED, replies.TEXT.without("has_more")],
    ),
    should(
        "responses:input-items:page-ends",
        "spec 1",
        "`first_id` and `last_id` are the first and last item of the page.",
        fault=[replies.CREATED, replies.TEXT.patched("last_id", to="msg_0")],
    ),
    must(
        "responses:input-items:ids",
        "spec 5",
        "Every input item has an id and a type.",
        fault=[replies.CREATED, replies.TEXT.without("data", 0, "id")],
    ),
    must(
        "responses:input-items:message",
        "spec 5",
        "A string input is one user message with `input_text`.",
        fault=[replies.CREATED, replies.TEXT.patched("data", 0, "content", to="Say hello.")],
    ),
    good=[replies.CREATED, replies.TEXT],
)
def a_text_is_listed(trial: Trial) -> Steps:
    """List the input items of a response to a string."""
    created = trial.response((yield from trial.respond("Say hello.")))
    exchange = yield from trial.get(f"/responses/{id_of(created)}/input_items")
    page = trial.whole(exchange)
    items = listed(page, "data")
    trial.expect(
        "responses:input-items:list", at(page, "object") == "list" and bool(items), exchange.came
    )
    ends = [at(page, key) for key in ("first_id", "last_id")]
    has_keys = MISSING not in ends and isinstance(at(page, "has_more"), bool)
    trial.expect("responses:input-items:paging-keys", has_keys, exchange.came)
    trial.expect(
        "responses:input-items:page-ends", ends == [at(items, 0, "id"), at(items, -1, "id")], ends
    )
    are_named = all(is_text(at(item, "id")) and is_text(at(item, "type")) for item in items)
    trial.expect("responses:input-items:ids", bool(items) and are_named, exchange.came)
    part = at(items, 0, "content", 0)
    is_message = (
        at(items, 0, "role") == "user"
        and at(part, "type") == "input_text"
        and at(part, "text") == "Say hello."
    )
    trial.expect("responses:input-items:message", len(items) == 1 and is_message, exchange.came)


@case(
    must(
        "responses:input-items:newest-first",
        "spec 1",
        "The newest item is first by default.",
        fault=[replies.CREATED, replies.OLDEST, replies.OLDEST, replies.HALF, replies.REST],
    ),
    must(
        "responses:input-items:ascending",
        "spec 1",
        "With `order=asc` the oldest item is first.",
        fault=[replies.CREATED, replies.NEWEST, replies.NEWEST, replies.HALF, replies.REST],
    ),
    must(
        "responses:input-items:limit",
        "spec 1",
        "`limit` limits the items of a page, and `has_more` reports further items.",
        fault=[replies.CREATED, replies.NEWEST, replies.OLDEST, replies.OLDEST, replies.REST],
    ),
    must(
        "responses:input-items:after",
        "spec 1",
        "`after` continues after an item, without gap or repetition.",
        fault=[replies.CREATED, replies.NEWEST, replies.OLDEST, replies.HALF, replies.HALF],
    ),
    good=[replies.CREATED, replies.NEWEST, replies.OLDEST, replies.HALF, replies.REST],
)
def items_are_paged(trial: Trial) -> Steps:
    """List the items of a conversation in both orders, and page by page."""
    created = trial.response((yield from trial.respond(TURNS)))
    path = f"/responses/{id_of(created)}/input_items"
    newest = trial.whole((yield from trial.get(path)))
    oldest = trial.whole((yield from trial.get(f"{path}?order=asc")))
    expected = [turn["content"] for turn in TURNS]
    trial.expect(
        "responses:input-items:newest-first",
        texts_of(newest) == expected[::-1],
        preview(texts_of(newest)),
    )
    trial.expect(
        "responses:input-items:ascending", texts_of(oldest) == expected, preview(texts_of(oldest))
    )
    first = trial.whole((yield from trial.get(f"{path}?order=asc&limit=2")))
    is_bounded = len(listed(first, "data")) == 2 and at(first, "has_more") is True
    trial.expect("responses:input-items:limit", is_bounded, preview(first))
    last = at(first, "last_id")
    rest = trial.whole(
        (yield from trial.get(f"{path}?order=asc&limit=2&after={last if is_text(last) else ''}"))
    )
    is_rest = texts_of(rest) == expected[2:] and at(rest, "has_more") is False
    trial.expect("responses:input-items:after", is_rest, preview(rest))


@case(
    should(
        "responses:input-items:limit-zero",
        "spec 13",
        "A `limit` of 0 is rejected with 400.",
        fault=[replies.CREATED, replies.TEXT],
    ),
    should(
        "responses:input-items:limit-high",
        "spec 13",
        "A `limit` of 101 is rejected with 400.",
        fault=[replies.CREATED, replies.REJECTED, replies.TEXT],
    ),
    should(
        "responses:input-items:order-word",
        "spec 13",
        "An unknown `order` is rejected with 400.",
        fault=[replies.CREATED, replies.REJECTED, replies.REJECTED, replies.TEXT],
    ),
    good=[replies.CREATED, replies.REJECTED, replies.REJECTED, replies.REJECTED],
)
def wrong_queries_are_refused(trial: Trial) -> Steps:
    """List input items with invalid queries."""
    created = trial.response((yield from trial.respond("Say hello.")))
    for name, query in (
        ("limit-zero", "limit=0"),
        ("limit-high", "limit=101"),
        ("order-word", "order=up"),
    ):
        exchange = yield from trial.get(f"/responses/{id_of(created)}/input_items?{query}")
        trial.supported(exchange)
        trial.expect(f"responses:input-items:{name}", exchange.status == 400, exchange.came)


@case(
    must(
        "responses:input-items:deleted",
        "spec 1",
        "Input items of a deleted response return 404.",
        fault=[replies.CREATED, replies.TEXT, states({}), replies.TEXT],
    ),
    good=[replies.CREATED, replies.TEXT, states({}), replies.NOT_FOUND],
)
def items_are_deleted_with_their_response(trial: Trial) -> Steps:
    """Delete a response, and list its input items."""
    path = f"/responses/{id_of(trial.response((yield from trial.respond('Say hello.'))))}"
    trial.succeed((yield from trial.get(f"{path}/input_items")))
    trial.succeed((yield from trial.delete(path)))
    exchange = yield from trial.get(f"{path}/input_items")
    trial.expect("responses:input-items:deleted", exchange.status == 404, exchange.came)


@case(
    must(
        "responses:input-items:unknown",
        "spec 13",
        "Input items of an unknown response return 404.",
        fault=[replies.CREATED, replies.TEXT],
    ),
    good=[replies.CREATED, replies.NOT_FOUND],
)
def items_of_nothing_are_not_found(trial: Trial) -> Steps:
    """List the input items of an unknown response."""
    created = trial.response((yield from trial.respond("Say hello.")))
    exchange = yield from trial.get(f"/responses/{unlike(id_of(created))}/input_items")
    trial.supported(exchange)
    trial.expect("responses:input-items:unknown", exchange.status == 404, exchange.came)
