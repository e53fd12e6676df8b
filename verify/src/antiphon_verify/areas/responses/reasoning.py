"""Reasoning, if the model reasons."""

from typing import Any

from antiphon_verify.areas.responses.text import output_of, text_of
from antiphon_verify.case import case
from antiphon_verify.reading import at, is_integer, is_text, listed, preview
from antiphon_verify.replies.bodies import MESSAGE
from antiphon_verify.replies.responses import reasoning as replies
from antiphon_verify.requirement import Stop, must, should
from antiphon_verify.samples import is_accepted
from antiphon_verify.trial import Steps, Trial

FOREIGN = "rs_00000000000000000000000000000000"

QUESTION = "What is 17 times 3?"


def reasoning_of(response: Any) -> list[dict[str, Any]]:
    """Return the reasoning items."""
    return [item for item in output_of(response) if item.get("type") == "reasoning"]


@case(
    must(
        "responses:reasoning:accepted",
        "spec 2",
        "`reasoning.effort` is accepted.",
        fault=[replies.REJECTED],
    ),
    must(
        "responses:reasoning:not-in-text",
        "issue vllm#43395",
        "The text of the response contains no `<think>` tags.",
        fault=[replies.GOOD.patched("output", 1, "content", 0, "text", to="<think>17</think>51")],
    ),
    must(
        "responses:reasoning:summary",
        "spec 5",
        "A reasoning item has a list `summary`, possibly empty.",
        fault=[replies.GOOD.without("output", 0, "summary")],
    ),
    must(
        "responses:reasoning:summary-parts",
        "spec 5",
        "A part of the summary is `summary_text` with a string `text`.",
        fault=[replies.GOOD.patched("output", 0, "summary", 0, to="Thought.")],
    ),
    must(
        "responses:reasoning:content-parts",
        "spec 5",
        "A part of its content is `reasoning_text` with a string `text`.",
        fault=[replies.GOOD.patched("output", 0, "content", 0, "type", to="output_text")],
    ),
    must(
        "responses:reasoning:id",
        "spec 5",
        "A reasoning item has an `id`.",
        fault=[replies.GOOD.without("output", 0, "id")],
    ),
    should(
        "responses:reasoning:id-prefix",
        "spec 3",
        "The id of a reasoning item begins with `rs_`.",
        fault=[replies.GOOD.patched("output", 0, "id", to="1")],
    ),
    should(
        "responses:reasoning:first",
        "spec 16",
        "Reasoning comes before the message that results from it.",
        fault=[replies.GOOD.patched("output", to=[MESSAGE, replies.ITEM])],
    ),
    should(
        "responses:reasoning:counted",
        "spec 3",
        "If the model reasons, usage counts its reasoning tokens.",
        fault=[replies.GOOD.patched("usage", "output_tokens_details", "reasoning_tokens", to=0)],
    ),
    good=[replies.GOOD],
)
def reasoning_is_an_item(trial: Trial) -> Steps:
    """Set a low reasoning effort."""
    response = trial.response((yield from trial.respond(QUESTION, reasoning={"effort": "low"})))
    trial.expect("responses:reasoning:accepted", True)
    text = text_of(response)
    trial.expect(
        "responses:reasoning:not-in-text", "<think>" not in text and "</think>" not in text, text
    )
    items = reasoning_of(response)
    if not items:
        raise Stop("skipped", "The model did not reason.")
    judge_items(trial, items)
    types = [item.get("type") for item in output_of(response)]
    if "message" in types:
        is_first = types.index("reasoning") < types.index("message")
        trial.expect("responses:reasoning:first", is_first, types)
    if any(listed(item, "content") for item in items):
        tokens = at(response, "usage", "output_tokens_details", "reasoning_tokens")
        trial.expect(
            "responses:reasoning:counted",
            is_integer(tokens) and tokens > 0,
            preview(at(response, "usage")),
        )


def judge_items(trial: Trial, items: list[dict[str, Any]]) -> None:
    """Judge reasoning items."""
    trial.expect(
        "responses:reasoning:summary",
        all(isinstance(one.get("summary"), list) for one in items),
        items,
    )
    ids = [one.get("id") for one in items]
    trial.expect("responses:reasoning:id", all(map(is_text, ids)), items)
    trial.expect(
        "responses:reasoning:id-prefix",
        all(is_text(one) and one.startswith("rs_") for one in ids),
        ids,
    )
    for name, key, kind in (
        ("summary", "summary", "summary_text"),
        ("content", "content", "reasoning_text"),
    ):
        parts = [part for one in items for part in listed(one, key)]
        if parts:
            are_right = all(
                at(part, "type") == kind and isinstance(at(part, "text"), str) for part in parts
            )
            trial.expect(f"responses:reasoning:{name}-parts", are_right, parts)


@case(
    should(
        "responses:reasoning:summary-accepted",
        "spec 2",
        "`reasoning.summary` is accepted.",
        fault=[replies.REJECTED],
    ),
    "responses:reasoning:summary-parts",
    "responses:reasoning:summary",
    good=[replies.GOOD],
)
def a_summary_is_requested(trial: Trial) -> Steps:
    """Request a summary of the reasoning."""
    options = {"reasoning": {"effort": "low", "summary": "auto"}}
    response = trial.response((yield from trial.respond(QUESTION, **options)))
    trial.expect("responses:reasoning:summary-accepted", True)
    items = reasoning_of(response)
    if not items:
        raise Stop("skipped", "The model did not reason.")
    trial.expect(
        "responses:reasoning:summary",
        all(isinstance(one.get("summary"), list) for one in items),
        items,
    )
    parts = [part for one in items for part in listed(one, "summary")]
    if parts:
        are_right = all(
            at(part, "type") == "summary_text" and isinstance(at(part, "text"), str)
            for part in parts
        )
        trial.expect("responses:reasoning:summary-parts", are_right, parts)


@case(
    should(
        "responses:reasoning:encrypted-only-when-asked",
        "spec 10",
        "`encrypted_content` is returned only with `store: false` or if `include` requests it.",
        fault=[replies.GOOD.patched("output", 0, "encrypted_content", to="gAAA")],
    ),
    good=[replies.GOOD],
)
def a_stored_response_needs_nothing_encrypted(trial: Trial) -> Steps:
    """Create a stored response with reasoning."""
    response = trial.response(
        (yield from trial.respond(QUESTION, reasoning={"effort": "low"}, store=True))
    )
    items = reasoning_of(response)
    if items:
        sealed = [one.get("encrypted_content") for one in items if one.get("encrypted_content")]
        trial.expect("responses:reasoning:encrypted-only-when-asked", not sealed, sealed)


@case(
    must(
        "responses:reasoning:include-accepted",
        "spec 10",
        "`include` can request `reasoning.encrypted_content`.",
        fault=[replies.REJECTED],
    ),
    good=[replies.GOOD],
)
def encrypted_reasoning_can_be_requested(trial: Trial) -> Steps:
    """Request encrypted reasoning with `store: false`."""
    options = {"include": ["reasoning.encrypted_content"], "store": False}
    trial.response((yield from trial.respond("Say hello.", **options)))
    trial.expect("responses:reasoning:include-accepted", True)


@case(
    should(
        "responses:reasoning:encrypted",
        "spec 10",
        "With `store: false` a reasoning item has `encrypted_content`.",
        fault=[replies.GOOD],
    ),
    must(
        "responses:reasoning:encrypted-taken",
        "client codex",
        "Encrypted reasoning is accepted as input unchanged.",
        fault=[replies.SEALED, replies.FORGED, replies.FORGED],
    ),
    must(
        "responses:reasoning:encrypted-forged",
        "spec 13",
        "Tampered encrypted reasoning is rejected with a 4xx, or ignored.",
        fault=[replies.SEALED, replies.GOOD, replies.BROKEN],
    ),
    good=[replies.SEALED, replies.GOOD, replies.FORGED],
)
def encrypted_reasoning_goes_back(trial: Trial) -> Steps:
    """Request encrypted reasoning with `store: false`; send it back unchanged, then changed."""
    options = {
        "include": ["reasoning.encrypted_content"],
        "store": False,
        "reasoning": {"effort": "low"},
    }
    output = output_of(trial.response((yield from trial.respond(QUESTION, **options))))
    if not any(item.get("type") == "reasoning" for item in output):
        raise Stop("skipped", "The model did not reason.")
    blobs = [item.get("encrypted_content") for item in output if item.get("type") == "reasoning"]
    if not trial.expect("responses:reasoning:encrypted", all(map(is_text, blobs)), preview(output)):
        raise Stop("skipped", "Nothing is encrypted.")
    again = yield from trial.respond(followed(output), **options)
    trial.offered(again)
    trial.expect("responses:reasoning:encrypted-taken", is_accepted(again), again.came)
    forged = [tampered(item) if is_text(item.get("encrypted_content")) else item for item in output]
    exchange = yield from trial.respond(followed(forged), **options)
    is_seen = is_accepted(exchange) or 400 <= exchange.status < 500
    trial.expect("responses:reasoning:encrypted-forged", is_seen, exchange.came)


@case(
    should(
        "responses:reasoning:removed",
        "spec 24",
        "Encrypted reasoning of another server is rejected with a 4xx, or `input_transformations` "
        "names it as removed.",
        fault=[replies.GOOD.patched("input_transformations", to=None)],
    ),
    good=[replies.GOOD.patched("input_transformations", to=[{"id": FOREIGN, "action": "removed"}])],
)
def reasoning_of_another_server_is_sent(trial: Trial) -> Steps:
    """Send reasoning that another server encrypted."""
    foreign = {
        "type": "reasoning",
        "id": FOREIGN,
        "summary": [],
        "encrypted_content": "gAAAAABforeign",
    }
    answer = {"role": "assistant", "content": "51"}
    exchange = yield from trial.respond(followed([foreign, answer]))
    if 400 <= exchange.status < 500:
        trial.expect("responses:reasoning:removed", True)
        return
    removed = listed(trial.response(exchange), "input_transformations")
    is_named = any((at(one, "id"), at(one, "action")) == (FOREIGN, "removed") for one in removed)
    trial.expect("responses:reasoning:removed", is_named, preview(removed))


def followed(output: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the input of the next turn of a client that stores everything itself."""
    return [
        {"role": "user", "content": QUESTION},
        *output,
        {"role": "user", "content": "And 18 times 3?"},
    ]


def tampered(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item with one character changed in the middle of its encrypted content."""
    blob = str(item["encrypted_content"])
    middle = len(blob) // 2
    other = "B" if blob[middle] == "A" else "A"
    return item | {"encrypted_content": f"{blob[:middle]}{other}{blob[middle + 1 :]}"}
