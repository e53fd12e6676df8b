"""Stored chat completions, if the server supports them."""

from typing import Any

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.case import case
from antiphon_verify.reading import at, is_text, listed, preview, unlike
from antiphon_verify.replies import replaced, states
from antiphon_verify.replies.chat import stored as replies
from antiphon_verify.requirement import should
from antiphon_verify.trial import ExchangeSteps, Steps, Trial

SOURCE = "chat-api stored completions"


def create(trial: Trial, **parameters: Any) -> ExchangeSteps:
    """Create a completion with `store: true`."""
    return trial.chat("Say hello.", store=True, **parameters)


def text_of(completion: Any) -> Any:
    """Return the text of a completion."""
    return at(completion, "choices", 0, "message", "content")


@case(
    should(
        "chat:stored:retrieved",
        SOURCE,
        "A completion with `store: true` can be retrieved.",
        fault=replaced(replies.LIFE, 1, replies.FOUND.patched("id", to="chatcmpl-2")),
    ),
    should(
        "chat:stored:metadata",
        SOURCE,
        "A stored completion has the metadata of its request.",
        fault=replaced(replies.LIFE, 1, replies.FOUND.without("metadata")),
    ),
    should(
        "chat:stored:updated",
        SOURCE,
        "The metadata of a stored completion can be changed.",
        fault=replaced(replies.LIFE, 2, replies.FOUND),
    ),
    should(
        "chat:stored:messages",
        SOURCE,
        "The messages of a stored completion's request are listed, with ids.",
        fault=replaced(replies.LIFE, 3, replies.MESSAGES.without("data", 0, "id")),
    ),
    should(
        "chat:stored:deleted-body",
        SOURCE,
        "A deletion returns `chat.completion.deleted`, `deleted` and the id.",
        fault=replaced(replies.LIFE, 4, states({})),
    ),
    should(
        "chat:stored:deleted",
        SOURCE,
        "A deleted stored completion returns 404.",
        fault=replaced(replies.LIFE, 5, replies.FOUND),
    ),
    good=replies.LIFE,
)
def a_completion_is_stored(trial: Trial) -> Steps:
    """Make a completion with `store: true`, retrieve it, change it, list its messages, delete
    it.
    """
    created = trial.completion((yield from create(trial, metadata={"a": "1"})))
    name = id_of(created)
    path = f"/chat/completions/{name}"
    found = yield from trial.get(path)
    trial.supported(found)
    is_found = (
        found.is_ok and at(found.json, "id") == name and text_of(found.json) == text_of(created)
    )
    trial.expect("chat:stored:retrieved", is_found, found.came)
    trial.expect("chat:stored:metadata", at(found.json, "metadata") == {"a": "1"}, found.came)
    changed = yield from trial.post(path, {"metadata": {"b": "2"}})
    is_changed = (
        changed.is_ok
        and at(changed.json, "id") == name
        and at(changed.json, "metadata", "b") == "2"
    )
    trial.expect("chat:stored:updated", is_changed, changed.came)
    messages = yield from trial.get(f"{path}/messages")
    data = listed(messages.json, "data")
    is_listed = [(at(one, "role"), at(one, "content")) for one in data] == [("user", "Say hello.")]
    trial.expect("chat:stored:messages", is_listed and is_text(at(data, 0, "id")), messages.came)
    deleted = yield from trial.delete(path)
    is_reported = (
        at(deleted.json, "object") == "chat.completion.deleted"
        and at(deleted.json, "deleted") is True
    )
    trial.expect(
        "chat:stored:deleted-body", is_reported and at(deleted.json, "id") == name, deleted.came
    )
    missing = yield from trial.get(path)
    trial.expect("chat:stored:deleted", deleted.is_ok and missing.status == 404, missing.came)


@case(
    should(
        "chat:stored:streamed",
        SOURCE,
        "A streamed completion can be retrieved in full by the id of its chunks.",
        fault=[replies.STREAM, replies.NOT_FOUND],
    ),
    good=[replies.STREAM, replies.FOUND],
)
def a_stream_is_stored(trial: Trial) -> Steps:
    """Stream a completion with `store: true`, and retrieve it at once."""
    chunks = trial.streamed((yield from create(trial, stream=True)))
    pieces = [at(chunk, "choices", 0, "delta", "content") for chunk in chunks]
    text = "".join(piece for piece in pieces if is_text(piece))
    found = yield from trial.get(f"/chat/completions/{id_of(chunks[0])}")
    trial.supported(found)
    trial.expect("chat:stored:streamed", found.is_ok and text_of(found.json) == text, found.came)


@case(
    should(
        "chat:stored:listed",
        SOURCE,
        "Stored completions are listed, oldest first.",
        fault=replaced(replies.LISTS, 5, replies.page("chatcmpl-2", "chatcmpl-1")),
    ),
    should(
        "chat:stored:filtered",
        SOURCE,
        "The list can be filtered by `metadata[key]=value`.",
        fault=replaced(replies.LISTS, 5, replies.page("chatcmpl-2", "chatcmpl-1", "chatcmpl-0")),
    ),
    should(
        "chat:stored:paged",
        SOURCE,
        "`limit` and `after` page through the list.",
        fault=replaced(replies.LISTS, 7, replies.page("chatcmpl-1")),
    ),
    good=replies.LISTS,
)
def stored_completions_are_listed(trial: Trial) -> Steps:
    """Create two stored completions with metadata, list them, and page through the list."""
    names = []
    for _ in range(2):
        names.append(id_of(trial.completion((yield from create(trial)))))
        changed = yield from trial.post(
            f"/chat/completions/{names[-1]}", {"metadata": {"tag": names[0]}}
        )
        trial.supported(changed)
    everything = yield from trial.get("/chat/completions?limit=100&order=desc")
    newest = [at(one, "id") for one in listed(everything.json, "data")]
    is_list = (
        at(everything.json, "object") == "list"
        and [one for one in newest if one in names] == names[::-1]
    )
    path = f"/chat/completions?metadata%5Btag%5D={names[0]}"
    tagged = yield from trial.get(path)
    ids = [at(one, "id") for one in listed(tagged.json, "data")]
    trial.expect("chat:stored:filtered", sorted(map(str, ids)) == sorted(names), tagged.came)
    trial.expect(
        "chat:stored:listed", is_list and ids == names, f"{everything.came}; then {tagged.came}"
    )
    first = yield from trial.get(f"{path}&limit=1")
    rest = yield from trial.get(f"{path}&limit=1&after={names[0]}")
    pages = [[at(one, "id") for one in listed(page.json, "data")] for page in (first, rest)]
    has_more = [at(page.json, "has_more") for page in (first, rest)]
    is_paged = pages == [names[:1], names[1:]] and has_more == [True, False]
    trial.expect("chat:stored:paged", is_paged, preview([pages, has_more]))


@case(
    should(
        "chat:stored:unknown",
        SOURCE,
        "An unknown stored completion returns 404.",
        fault=[replies.CREATED, replies.FOUND],
    ),
    good=[replies.CREATED, replies.NOT_FOUND],
)
def an_unknown_completion_is_not_found(trial: Trial) -> Steps:
    """Retrieve an unknown completion."""
    created = trial.completion((yield from create(trial)))
    exchange = yield from trial.get(f"/chat/completions/{unlike(id_of(created))}")
    trial.supported(exchange)
    trial.expect("chat:stored:unknown", exchange.status == 404, exchange.came)


@case(
    should(
        "chat:stored:unstored",
        SOURCE,
        "A completion without `store` cannot be retrieved.",
        fault=[replies.CREATED, replies.FOUND],
    ),
    good=[replies.CREATED, replies.NOT_FOUND],
)
def an_unstored_completion_is_not_found(trial: Trial) -> Steps:
    """Create a completion without `store`, and try to retrieve it."""
    created = trial.completion((yield from trial.chat("Say hello.")))
    exchange = yield from trial.get(f"/chat/completions/{id_of(created)}")
    trial.supported(exchange)
    trial.expect("chat:stored:unstored", exchange.status == 404, exchange.came)
