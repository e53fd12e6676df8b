"""Compaction of a context."""

from typing import Any

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.areas.responses.text import output_of
from antiphon_verify.case import case
from antiphon_verify.reading import at, is_integer, is_text, listed, preview
from antiphon_verify.refusal import is_refused
from antiphon_verify.replies.responses import compact as replies
from antiphon_verify.replies.responses.compact import TURNS
from antiphon_verify.requirement import must, should
from antiphon_verify.trial import Steps, Trial, is_response


def compactions_of(response: Any) -> list[dict[str, Any]]:
    """Return the compaction items that have content."""
    items = [item for item in output_of(response) if item.get("type") == "compaction"]
    return [item for item in items if is_text(item.get("encrypted_content"))]


@case(
    must(
        "responses:compact:object",
        "spec 11",
        "`/responses/compact` returns a `response.compaction` object.",
        fault=[replies.COMPACTED.patched("object", to="response"), replies.PLAIN],
    ),
    must(
        "responses:compact:item",
        "client codex",
        "The output of a compaction has exactly one compaction item, with `encrypted_content`.",
        fault=[
            replies.COMPACTED.patched("output", to=[*replies.USERS, replies.ITEM, replies.ITEM]),
            replies.PLAIN,
        ],
    ),
    should(
        "responses:compact:users-kept",
        "spec 11",
        "The output of a compaction contains the user's messages unchanged.",
        fault=[replies.COMPACTED.patched("output", to=[replies.ITEM]), replies.PLAIN],
    ),
    should(
        "responses:compact:usage",
        "spec 11",
        "A compaction has `usage`.",
        fault=[replies.COMPACTED.without("usage"), replies.PLAIN],
    ),
    must(
        "responses:compact:taken-back",
        "spec 11",
        "The output of a compaction is accepted as the next request's input.",
        fault=[replies.COMPACTED, replies.REJECTED],
    ),
    good=[replies.COMPACTED, replies.PLAIN],
)
def a_context_is_compacted(trial: Trial) -> Steps:
    """Compact a short conversation, and continue it."""
    exchange = yield from trial.post("/responses/compact", {"model": trial.model, "input": TURNS})
    compacted = trial.whole(exchange)
    is_one = at(compacted, "object") == "response.compaction" and is_text(at(compacted, "id"))
    trial.expect("responses:compact:object", is_one, exchange.came)
    trial.expect("responses:compact:item", len(compactions_of(compacted)) == 1, exchange.came)
    users = [item for item in output_of(compacted) if item.get("role") == "user"]
    texts = [
        content if isinstance(content := at(item, "content"), str) else words_of(item)
        for item in users
    ]
    expected = [turn["content"] for turn in TURNS if turn["role"] == "user"]
    trial.expect("responses:compact:users-kept", texts == expected, exchange.came)
    total = at(compacted, "usage", "total_tokens")
    trial.expect("responses:compact:usage", is_integer(total), preview(at(compacted, "usage")))
    more = [*listed(compacted, "output"), {"role": "user", "content": "What is my name?"}]
    again = yield from trial.respond(more)
    trial.expect(
        "responses:compact:taken-back", again.is_ok and is_response(again.json), again.came
    )


def words_of(item: Any) -> str:
    """Return the text of the parts of a message."""
    return "".join(
        text for part in listed(item, "content") if isinstance(text := at(part, "text"), str)
    )


@case(
    must(
        "responses:compact:missing-model",
        "open-responses",
        "A compaction request without a model is rejected with a 4xx.",
        fault=[replies.COMPACTED],
    ),
    good=[replies.REJECTED],
)
def compaction_needs_a_model(trial: Trial) -> Steps:
    """Compact without a model."""
    exchange = yield from trial.post("/responses/compact", {"input": TURNS})
    trial.supported(exchange)
    trial.expect("responses:compact:missing-model", is_refused(exchange), exchange.came)


@case(
    should(
        "responses:compact:by-id",
        "spec 11",
        "`/responses/compact` accepts a `previous_response_id` without `input`.",
        fault=[replies.PLAIN, replies.REJECTED],
    ),
    good=[replies.PLAIN, replies.COMPACTED],
)
def a_stored_chain_is_compacted(trial: Trial) -> Steps:
    """Store a response, and compact its conversation by its id."""
    first = trial.response((yield from trial.respond(TURNS, store=True)))
    body = {"model": trial.model, "previous_response_id": id_of(first)}
    exchange = yield from trial.post("/responses/compact", body)
    trial.offered(exchange)
    trial.expect("responses:compact:by-id", len(compactions_of(exchange.json)) == 1, exchange.came)


@case(
    must(
        "responses:compact:trigger",
        "client codex",
        "A last input item of type `compaction_trigger` returns one compaction item.",
        fault=[replies.PLAIN],
    ),
    must(
        "responses:compact:chained",
        "spec 11",
        "A response that ends with a compaction item can be continued.",
        fault=[replies.TRIGGERED, replies.LOST],
    ),
    good=[replies.TRIGGERED, replies.PLAIN],
)
def compaction_is_triggered(trial: Trial) -> Steps:
    """Request a compaction by the last item of the input, and continue from it."""
    response = trial.response((yield from trial.respond([*TURNS, {"type": "compaction_trigger"}])))
    if trial.expect(
        "responses:compact:trigger",
        len(compactions_of(response)) == 1,
        preview(at(response, "output")),
    ):
        again = yield from trial.respond(
            "What is my name?", previous_response_id=at(response, "id")
        )
        trial.offered(again)
        trial.expect(
            "responses:compact:chained", again.is_ok and is_response(again.json), again.came
        )


@case(
    should(
        "responses:compact:threshold",
        "spec 11",
        "`context_management` is accepted.",
        fault=[replies.REJECTED],
    ),
    good=[replies.PLAIN],
)
def compaction_is_left_to_the_server(trial: Trial) -> Steps:
    """Let the server decide when to compact."""
    management = [{"type": "compaction", "compact_threshold": 100_000}]
    exchange = yield from trial.respond("Say hello.", context_management=management)
    trial.offered(exchange)
    trial.expect(
        "responses:compact:threshold", exchange.is_ok and is_response(exchange.json), exchange.came
    )


@case(
    must(
        "responses:compact:foreign",
        "spec 13",
        "A forged compaction item is rejected with a 4xx, or ignored.",
        fault=[replies.COMPACTED, replies.BROKEN],
    ),
    good=[replies.COMPACTED, replies.REJECTED],
)
def a_forged_compaction_is_seen(trial: Trial) -> Steps:
    """Send a forged compaction item."""
    probe = yield from trial.post("/responses/compact", {"model": trial.model, "input": "Hello."})
    trial.succeed(probe)
    forged = {"type": "compaction", "encrypted_content": "forged"}
    exchange = yield from trial.respond([forged, {"role": "user", "content": "Say hello."}])
    trial.understood(exchange)
    is_seen = (exchange.is_ok and is_response(exchange.json)) or 400 <= exchange.status < 500
    trial.expect("responses:compact:foreign", is_seen, exchange.came)


@case(
    should(
        "responses:compact:items-before",
        "spec 11",
        "The model reads the input items before a compaction item.",
        fault=[replies.COMPACTED, replies.PLAIN, replies.PLAIN],
    ),
    good=[replies.COMPACTED, replies.PLAIN, replies.PLAIN.patched("usage", "input_tokens", to=500)],
)
def items_before_a_compaction_are_read(trial: Trial) -> Steps:
    """Compact a conversation, and send a long text before the compaction item: the token count
    shows if it is read.
    """
    exchange = yield from trial.post("/responses/compact", {"model": trial.model, "input": TURNS})
    compactions = compactions_of(trial.whole(exchange))
    counts: list[Any] = []
    for before in ([], [{"role": "assistant", "content": "The fox walked on. " * 50}]):
        answer = yield from trial.respond([*before, *compactions[:1], TURNS[0]])
        counts.append(at(trial.response(answer), "usage", "input_tokens"))
    is_read = all(map(is_integer, counts)) and counts[1] > counts[0] + 50
    trial.expect(
        "responses:compact:items-before", is_read, f"input tokens without and with them: {counts}"
    )
