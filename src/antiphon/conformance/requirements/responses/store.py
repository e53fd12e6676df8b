"""Stored responses."""

from antiphon.conformance.requirement import Table, must, should

TABLE: Table = (
    must("responses:store:retrieved", "spec 1", "A response is stored unless told otherwise, and can be retrieved."),
    must("responses:store:same", "issue ogx#2299", "A retrieved response is the one that was answered."),
    must("responses:store:stream-retrieved", "spec 1", "A streamed response can be retrieved after its last event."),
    must("responses:store:stream-same", "issue ogx#2299", "A retrieved response is that of the stream's last event."),
    must("responses:store:unstored", "spec 10", "A response with `store: false` cannot be retrieved."),
    must("responses:store:unknown", "spec 13", "An unknown response is a 404."),
    should(
        "responses:store:unknown-envelope", "spec 13", "The 404 of an unknown response has an error that SDKs can read."
    ),
    must("responses:store:deleted", "spec 1", "A response can be deleted, and is then a 404."),
    should("responses:store:deleted-body", "spec 1", "Deletion answers with the id and `deleted: true`."),
    must("responses:store:deleted-twice", "spec 1", "Deleting a response again is a 404."),
    must("responses:store:delete-unknown", "spec 13", "Deleting an unknown response is a 404, never a 5xx."),
    must("responses:store:include", "spec 10", "`include[]` is taken when a response is retrieved."),
    should("responses:store:include-unknown", "spec 10", "An unknown `include[]` is refused with 400."),
)
