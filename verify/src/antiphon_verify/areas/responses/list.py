"""The list of responses, if the server supports it."""

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.case import case
from antiphon_verify.reading import at, listed, preview
from antiphon_verify.replies import error
from antiphon_verify.replies.responses import list as replies
from antiphon_verify.requirement import should
from antiphon_verify.trial import ExchangeSteps, Steps, Trial

SOURCE = "issue litellm#14679"


def create(trial: Trial, tag: str) -> ExchangeSteps:
    """Create a response with this metadata."""
    return trial.respond("Say hello.", metadata={"tag": tag})


@case(
    should(
        "responses:list:listed",
        SOURCE,
        "A stored response is listed as soon as it has ended.",
        fault=[*replies.CREATED, replies.page("two", "first"), replies.TAGGED, *replies.PAGES],
    ),
    should(
        "responses:list:order",
        SOURCE,
        "Responses are listed newest first; `order=asc` lists the oldest first.",
        fault=[
            *replies.CREATED,
            replies.page("one", "two", "first"),
            replies.TAGGED,
            *replies.PAGES,
        ],
    ),
    should(
        "responses:list:filtered",
        SOURCE,
        "`q=metadata.NAME:VALUE` lists only the responses with this metadata.",
        fault=[*replies.CREATED, replies.ALL, replies.page("one", "two", "first"), *replies.PAGES],
    ),
    should(
        "responses:list:paged",
        SOURCE,
        "`limit` and `after` page through the list, without gap or repetition.",
        fault=[*replies.CREATED, replies.ALL, replies.TAGGED, replies.PAGES[0], replies.PAGES[0]],
    ),
    good=[*replies.CREATED, replies.ALL, replies.TAGGED, *replies.PAGES],
)
def responses_are_listed(trial: Trial) -> Steps:
    """Create two responses with metadata, list them, and page through the list."""
    first = id_of(trial.response((yield from create(trial, "first"))))
    tag = first[-40:]
    one = trial.response((yield from create(trial, tag)))
    names = [id_of(one), id_of(trial.response((yield from create(trial, tag))))]
    everything = yield from trial.get("/responses?limit=100")
    trial.supported(everything)
    newest = [at(one, "id") for one in listed(everything.json, "data")]
    is_list = at(everything.json, "object") == "list" and {first, *names} <= set(map(str, newest))
    trial.expect("responses:list:listed", is_list, everything.came)
    path = f"/responses?q=metadata.tag:{tag}"
    tagged = yield from trial.get(f"{path}&order=asc")
    ids = [at(one, "id") for one in listed(tagged.json, "data")]
    trial.expect("responses:list:filtered", sorted(map(str, ids)) == sorted(names), tagged.came)
    mine = [name for name in newest if name in {first, *names}]
    trial.expect(
        "responses:list:order", mine == [*names[::-1], first] and ids == names, preview([mine, ids])
    )
    pages = []
    for query in ("", f"&after={names[0]}"):
        page = yield from trial.get(f"{path}&order=asc&limit=1{query}")
        pages.append(
            ([at(one, "id") for one in listed(page.json, "data")], at(page.json, "has_more"))
        )
    is_paged = pages == [(names[:1], True), (names[1:], False)]
    trial.expect("responses:list:paged", is_paged, preview([list(page) for page in pages]))


@case(
    should(
        "responses:list:bad-filter",
        SOURCE,
        "An unknown filter is rejected with 400.",
        fault=[replies.ALL],
    ),
    good=[error("Unknown filter 'colour'.")],
)
def an_unknown_filter_is_refused(trial: Trial) -> Steps:
    """List responses with an unknown filter."""
    exchange = yield from trial.get("/responses?q=colour:red")
    trial.supported(exchange)
    trial.expect("responses:list:bad-filter", exchange.status == 400, exchange.came)


@case(
    should(
        "responses:list:deleted",
        SOURCE,
        "A deleted response is not listed.",
        fault=[replies.FIRST, replies.DELETED, replies.ALL],
    ),
    good=[replies.FIRST, replies.DELETED, replies.page("one")],
)
def a_deleted_response_is_not_listed(trial: Trial) -> Steps:
    """Create a response, delete it, and list responses."""
    created = id_of(trial.response((yield from trial.respond("Say hello."))))
    trial.succeed((yield from trial.delete(f"/responses/{created}")))
    exchange = yield from trial.get("/responses?limit=100")
    trial.supported(exchange)
    is_deleted = at(exchange.json, "object") == "list" and created not in [
        at(one, "id") for one in listed(exchange.json, "data")
    ]
    trial.expect("responses:list:deleted", is_deleted, exchange.came)
