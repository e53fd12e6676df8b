"""Conversations: their eight operations, and responses in them."""

from typing import Any

from antiphon_verify.areas.responses.chain import WORD, id_of, with_ids
from antiphon_verify.areas.responses.input_items import texts_of
from antiphon_verify.areas.responses.text import text_of
from antiphon_verify.case import case
from antiphon_verify.reading import at, is_integer, is_number, is_text, listed, preview, unlike
from antiphon_verify.refusal import is_refused
from antiphon_verify.replies import error, replaced, states
from antiphon_verify.replies.bodies import RESPONSE
from antiphon_verify.replies.responses import conversations as replies
from antiphon_verify.requirement import capability, may, must, should
from antiphon_verify.trial import ExchangeSteps, Steps, Trial, is_response


def message(text: str) -> dict[str, Any]:
    """Return a user message."""
    return {"type": "message", "role": "user", "content": text}


def create(trial: Trial, **body: Any) -> ExchangeSteps:
    """Create a conversation."""
    return trial.post("/conversations", body)


@case(
    must(
        "responses:conversations:created",
        "spec 1",
        "A new conversation is an object with an id and `created_at`.",
        fault=replaced(replies.LIFE, 0, replies.CREATED.without("created_at")),
    ),
    should(
        "responses:conversations:id-prefix",
        "spec 3",
        "The id of a conversation begins with `conv_`.",
        fault=replaced(replies.LIFE, 0, replies.CREATED.patched("id", to="1")),
    ),
    must(
        "responses:conversations:metadata",
        "spec 1",
        "A conversation stores its metadata.",
        fault=replaced(replies.LIFE, 0, replies.CREATED.without("metadata")),
    ),
    must(
        "responses:conversations:retrieved",
        "spec 1",
        "A conversation can be retrieved.",
        fault=replaced(replies.LIFE, 1, replies.NOT_FOUND),
    ),
    must(
        "responses:conversations:updated",
        "spec 1",
        "The metadata of a conversation can be changed.",
        fault=replaced(replies.LIFE, 2, replies.CREATED),
    ),
    may(
        "responses:conversations:updated-replaces",
        "spec 1",
        "Changing the metadata of a conversation replaces all of it instead of merging.",
        fault=replaced(replies.LIFE, 2, replies.CREATED.patched("metadata", "b", to="2")),
    ),
    must(
        "responses:conversations:deleted",
        "spec 1",
        "A deleted conversation returns 404.",
        fault=replaced(replies.LIFE, 4, replies.CREATED),
    ),
    should(
        "responses:conversations:deleted-body",
        "spec 1",
        "A deletion returns `conversation.deleted` and the id.",
        fault=replaced(replies.LIFE, 3, states({})),
    ),
    must(
        "responses:conversations:deleted-twice",
        "spec 1",
        "Deleting a conversation again returns 404.",
        fault=replaced(replies.LIFE, 5, replies.DELETED),
    ),
    good=replies.LIFE,
)
def a_conversation_lives(trial: Trial) -> Steps:
    """Create a conversation, retrieve it, change it, delete it."""
    exchange = yield from create(trial, metadata={"a": "1"})
    created = trial.whole(exchange)
    is_one = (
        is_text(at(created, "id"))
        and at(created, "object") == "conversation"
        and is_number(at(created, "created_at"))
    )
    trial.expect("responses:conversations:created", is_one, exchange.came)
    name = id_of(created)
    path = f"/conversations/{name}"
    trial.expect("responses:conversations:id-prefix", name.startswith("conv_"), name)
    trial.expect(
        "responses:conversations:metadata", at(created, "metadata") == {"a": "1"}, exchange.came
    )
    found = yield from trial.get(path)
    is_found = (
        found.is_ok and at(found.json, "id") == name and at(found.json, "object") == "conversation"
    )
    trial.expect("responses:conversations:retrieved", is_found, found.came)
    changed = yield from trial.post(path, {"metadata": {"b": "2"}})
    is_changed = changed.is_ok and at(changed.json, "metadata", "b") == "2"
    if trial.expect("responses:conversations:updated", is_changed, changed.came):
        metadata = at(changed.json, "metadata")
        trial.expect(
            "responses:conversations:updated-replaces", metadata == {"b": "2"}, preview(metadata)
        )
    deleted = yield from trial.delete(path)
    trial.succeed(deleted)
    is_right = (
        at(deleted.json, "object") == "conversation.deleted" and at(deleted.json, "id") == name
    )
    trial.expect("responses:conversations:deleted-body", is_right, deleted.came)
    missing = yield from trial.get(path)
    trial.expect("responses:conversations:deleted", missing.status == 404, missing.came)
    again = yield from trial.delete(path)
    trial.expect("responses:conversations:deleted-twice", again.status == 404, again.came)


@case(
    must(
        "responses:conversations:unknown",
        "spec 13",
        "An unknown conversation returns 404.",
        fault=[replies.CREATED, replies.CREATED],
    ),
    good=[replies.CREATED, replies.NOT_FOUND],
)
def an_unknown_conversation_is_not_found(trial: Trial) -> Steps:
    """Retrieve an unknown conversation."""
    created = trial.whole((yield from create(trial)))
    exchange = yield from trial.get(f"/conversations/{unlike(id_of(created))}")
    trial.supported(exchange)
    trial.expect("responses:conversations:unknown", exchange.status == 404, exchange.came)


@case(
    must(
        "responses:conversations:first-items",
        "spec 1",
        "A new conversation contains the items of its request.",
        fault=replaced(replies.ITEMS, 1, states({"data": []})),
    ),
    must(
        "responses:conversations:items-added",
        "spec 1",
        "Items can be added, and are returned as a list with ids.",
        fault=replaced(replies.ITEMS, 2, states({"data": []})),
    ),
    must(
        "responses:conversations:items-listed",
        "spec 1",
        "Items are listed newest first by default.",
        fault=replaced(replies.ITEMS, 3, replies.page(replies.ONE, replies.TWO, replies.THREE)),
    ),
    must(
        "responses:conversations:items-ascending",
        "spec 1",
        "`order=asc` lists the oldest item first.",
        fault=replaced(replies.ITEMS, 4, replies.page(replies.THREE, replies.TWO, has_more=True)),
    ),
    must(
        "responses:conversations:items-paged",
        "spec 1",
        "`limit` and `after` page through the items.",
        fault=replaced(replies.ITEMS, 5, replies.page(replies.ONE, replies.TWO)),
    ),
    must(
        "responses:conversations:item-retrieved",
        "spec 1",
        "An item can be retrieved by its id.",
        fault=replaced(replies.ITEMS, 6, replies.NOT_FOUND),
    ),
    must(
        "responses:conversations:item-deleted",
        "spec 1",
        "Deleting an item returns the conversation.",
        fault=replaced(replies.ITEMS, 7, replies.DELETED),
    ),
    good=replies.ITEMS,
)
def items_come_and_go(trial: Trial) -> Steps:
    """Create a conversation with an item, add two, list, page, retrieve and delete them."""
    name = id_of(trial.whole((yield from create(trial, items=[message("One.")]))))
    path = f"/conversations/{name}/items"
    first = trial.whole((yield from trial.get(path)))
    trial.expect("responses:conversations:first-items", texts_of(first) == ["One."], preview(first))
    added = trial.whole(
        (yield from trial.post(path, {"items": [message("Two."), message("Three.")]}))
    )
    ids = [at(item, "id") for item in listed(added, "data")]
    trial.expect(
        "responses:conversations:items-added",
        len(ids) == 2 and all(map(is_text, ids)),
        preview(added),
    )
    newest = trial.whole((yield from trial.get(path)))
    trial.expect(
        "responses:conversations:items-listed",
        texts_of(newest) == ["Three.", "Two.", "One."],
        preview(newest),
    )
    oldest = trial.whole((yield from trial.get(f"{path}?order=asc&limit=2")))
    trial.expect(
        "responses:conversations:items-ascending",
        texts_of(oldest) == ["One.", "Two."],
        preview(oldest),
    )
    last = at(oldest, "last_id")
    rest = trial.whole(
        (yield from trial.get(f"{path}?order=asc&limit=2&after={last if is_text(last) else ''}"))
    )
    is_paged = (
        texts_of(rest) == ["Three."]
        and at(oldest, "has_more") is True
        and at(rest, "has_more") is False
    )
    trial.expect("responses:conversations:items-paged", is_paged, preview(rest))
    one = ids[0] if ids and is_text(ids[0]) else "msg_0"
    item = yield from trial.get(f"{path}/{one}")
    trial.expect(
        "responses:conversations:item-retrieved",
        item.is_ok and at(item.json, "id") == one,
        item.came,
    )
    deleted = yield from trial.delete(f"{path}/{one}")
    is_deleted = (
        deleted.is_ok
        and at(deleted.json, "object") == "conversation"
        and at(deleted.json, "id") == name
    )
    trial.expect("responses:conversations:item-deleted", is_deleted, deleted.came)


@case(
    should(
        "responses:conversations:many-items",
        "spec 1",
        "Adding more than 20 items at once is rejected with 400.",
        fault=[replies.CREATED],
    ),
    good=[error("Too many items.")],
)
def many_items_are_refused(trial: Trial) -> Steps:
    """Create a conversation with 21 items."""
    exchange = yield from create(trial, items=[message(f"{number}.") for number in range(21)])
    trial.supported(exchange)
    trial.expect("responses:conversations:many-items", exchange.status == 400, exchange.came)


@case(
    must(
        "responses:conversations:used",
        "spec 10",
        "A response can use a conversation by its id.",
        fault=replaced(replies.CONVERSATION_USED, 1, replies.NOT_FOUND),
    ),
    must(
        "responses:conversations:used-object",
        "spec 2",
        "`conversation` can be an object with an id.",
        fault=replaced(replies.CONVERSATION_USED, 3, replies.NOT_FOUND),
    ),
    must(
        "responses:conversations:echoed",
        "spec 3",
        "The response has its `conversation` as an object with the id.",
        fault=replaced(replies.CONVERSATION_USED, 1, states(RESPONSE)),
    ),
    must(
        "responses:conversations:appended",
        "spec 10",
        "When a response has ended, the conversation contains its input and output.",
        fault=replaced(replies.CONVERSATION_USED, 2, replies.page(replies.item("Say."))),
    ),
    should(
        "responses:conversations:counted",
        "spec 10",
        "A turn in a conversation uses more input tokens than the same turn alone.",
        fault=replaced(replies.CONVERSATION_USED, 3, replies.FIRST),
    ),
    capability(
        should(
            "responses:conversations:recalled",
            "spec 10",
            "The model recalls a word from the conversation.",
            fault=replaced(replies.CONVERSATION_USED, 3, replies.FIRST),
        )
    ),
    good=replies.CONVERSATION_USED,
)
def a_conversation_is_continued(trial: Trial) -> Steps:
    """Create two responses in a conversation."""
    name = id_of(trial.whole((yield from create(trial))))
    first = trial.response(
        (yield from trial.respond(f"Remember this word: {WORD}.", conversation=name))
    )
    trial.expect("responses:conversations:used", True)
    echoed = at(first, "conversation", "id")
    trial.expect(
        "responses:conversations:echoed", echoed == name, preview(at(first, "conversation"))
    )
    yield from judge_turn(trial, name, "responses:conversations:appended")
    question = "Which word did I ask you to remember? Answer with the word alone."
    exchange = yield from trial.respond(question, conversation={"id": name})
    trial.expect(
        "responses:conversations:used-object",
        exchange.is_ok and is_response(exchange.json),
        exchange.came,
    )
    trial.expect(
        "responses:conversations:recalled", WORD in text_of(exchange.json).lower(), exchange.came
    )
    single = trial.response((yield from trial.respond(question)))
    counts = [at(one, "usage", "input_tokens") for one in (single, exchange.json)]
    if all(map(is_integer, counts)):
        trial.expect(
            "responses:conversations:counted",
            counts[0] < counts[1],
            f"{counts[0]} alone, {counts[1]} in it",
        )


def judge_turn(trial: Trial, name: str, requirement: str) -> Steps:
    """Judge whether a conversation begins with a user's message and the answer to it."""
    page = trial.whole((yield from trial.get(f"/conversations/{name}/items?order=asc")))
    roles = [at(item, "role") for item in listed(page, "data") if at(item, "type") == "message"]
    trial.expect(requirement, roles[:2] == ["user", "assistant"], preview(page))


@case(
    must(
        "responses:conversations:streamed",
        "issue ogx#3888",
        "After the last event of a stream, the conversation contains its items.",
        fault=[replies.CREATED, replies.STREAM, replies.page(replies.ONE)],
    ),
    good=[replies.CREATED, replies.STREAM, replies.TALK],
)
def a_conversation_is_streamed_in(trial: Trial) -> Steps:
    """Stream a response in a conversation, and list its items at once."""
    name = id_of(trial.whole((yield from create(trial))))
    trial.streamed((yield from trial.respond("Say hello.", conversation=name, stream=True)))
    yield from judge_turn(trial, name, "responses:conversations:streamed")


@case(
    may(
        "responses:conversations:unstored",
        "spec 24",
        "A conversation keeps the items of a response with `store: false`.",
        fault=[replies.CREATED, replies.FIRST, replies.page(replies.ONE)],
    ),
    good=[replies.CREATED, replies.FIRST, replies.TALK],
)
def an_unstored_response_is_in_a_conversation(trial: Trial) -> Steps:
    """Create a response with `store: false` in a conversation, and list its items."""
    name = id_of(trial.whole((yield from create(trial))))
    trial.response((yield from trial.respond("Say hello.", conversation=name, store=False)))
    yield from judge_turn(trial, name, "responses:conversations:unstored")


@case(
    must(
        "responses:conversations:exclusive",
        "spec 13",
        "`conversation` and `previous_response_id` are mutually exclusive.",
        fault=[replies.CREATED, replies.FIRST, replies.SECOND],
    ),
    good=[replies.CREATED, replies.FIRST, replies.REJECTED],
)
def a_response_has_one_past(trial: Trial) -> Steps:
    """Create a response with both a conversation and a previous response."""
    name = id_of(trial.whole((yield from create(trial))))
    first = trial.response((yield from trial.respond("Say hello.")))
    exchange = yield from trial.respond(
        "Say it again.", conversation=name, previous_response_id=id_of(first)
    )
    trial.expect("responses:conversations:exclusive", is_refused(exchange), exchange.came)


@case(
    should(
        "responses:conversations:repeated-id",
        "spec 13",
        "An input item with the id of an item in the conversation is rejected with 400.",
        fault=[replies.CREATED, replies.FIRST, replies.SECOND],
    ),
    good=[
        replies.CREATED,
        replies.FIRST,
        error("Duplicate item found with id msg_1.", 400, None, "input"),
    ],
)
def an_item_of_the_conversation_is_sent_again(trial: Trial) -> Steps:
    """Create a response in a conversation, and send its output again."""
    name = id_of(trial.whole((yield from create(trial))))
    first = trial.response((yield from trial.respond("Say hello.", conversation=name)))
    exchange = yield from trial.respond(
        [*with_ids(first), message("Say it again.")], conversation=name
    )
    trial.understood(exchange)
    trial.expect("responses:conversations:repeated-id", exchange.status == 400, exchange.came)


@case(
    must(
        "responses:conversations:use-unknown",
        "spec 13",
        "A response in an unknown conversation is rejected with a 4xx.",
        fault=[replies.CREATED, replies.FIRST],
    ),
    good=[replies.CREATED, replies.NOT_FOUND],
)
def an_unknown_conversation_is_refused(trial: Trial) -> Steps:
    """Create a response in an unknown conversation."""
    created = trial.whole((yield from create(trial)))
    exchange = yield from trial.respond("Say hello.", conversation=unlike(id_of(created)))
    trial.understood(exchange)
    trial.expect("responses:conversations:use-unknown", is_refused(exchange), exchange.came)
