"""Conversations."""

from antiphon.conformance.requirement import Table, capability, must, should

TABLE: Table = (
    must("responses:conversations:created", "spec 1", "A conversation is created, an object with id and `created_at`."),
    should("responses:conversations:id-prefix", "spec 3", "A conversation's id begins with `conv_`."),
    must("responses:conversations:metadata", "spec 1", "A conversation keeps its metadata."),
    must("responses:conversations:retrieved", "spec 1", "A conversation can be retrieved."),
    must("responses:conversations:updated", "spec 1", "A conversation's metadata can be changed."),
    must("responses:conversations:deleted", "spec 1", "A conversation can be deleted, and is then a 404."),
    should(
        "responses:conversations:deleted-body", "spec 1", "Deletion answers with `conversation.deleted` and the id."
    ),
    must("responses:conversations:deleted-twice", "spec 1", "Deleting a conversation again is a 404."),
    must("responses:conversations:unknown", "spec 13", "An unknown conversation is a 404."),
    must("responses:conversations:first-items", "spec 1", "Items given at creation are in the conversation."),
    must("responses:conversations:items-added", "spec 1", "Items can be added, and come back as a list with ids."),
    must("responses:conversations:items-listed", "spec 1", "Items are listed newest first, unless told otherwise."),
    must("responses:conversations:items-ascending", "spec 1", "`order=asc` lists the oldest item first."),
    must("responses:conversations:items-paged", "spec 1", "`limit` and `after` page through the items."),
    must("responses:conversations:item-retrieved", "spec 1", "An item can be retrieved by its id."),
    must(
        "responses:conversations:item-deleted", "spec 1", "An item can be deleted, which answers with the conversation."
    ),
    should("responses:conversations:many-items", "spec 1", "More than 20 items at once are refused with 400."),
    must("responses:conversations:used", "spec 10", "A response can be made in a conversation, given by its id."),
    must("responses:conversations:used-object", "spec 2", "`conversation` may be an object with an id."),
    must("responses:conversations:echoed", "spec 3", "The response tells its `conversation` as an object with the id."),
    must(
        "responses:conversations:appended",
        "spec 10",
        "Input and output are in the conversation when the response has ended.",
    ),
    should(
        "responses:conversations:counted", "spec 10", "A turn in a conversation takes more input tokens than alone."
    ),
    must(
        "responses:conversations:streamed",
        "issue ogx#3888",
        "What was streamed is in the conversation after the last event.",
    ),
    must(
        "responses:conversations:exclusive", "spec 13", "`conversation` and `previous_response_id` exclude each other."
    ),
    must(
        "responses:conversations:use-unknown",
        "spec 13",
        "A response in an unknown conversation is refused with 404 or 400.",
    ),
    capability(should("responses:conversations:recalled", "spec 10", "The model recalls a word of the conversation.")),
)
