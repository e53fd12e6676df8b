"""Responses cancelled."""

from antiphon.conformance.requirement import Table, must, should

TABLE: Table = (
    must("responses:cancel:cancelled", "spec 9", "A background response can be cancelled, unless it has ended before."),
    must("responses:cancel:twice", "spec 9", "Cancelling again gives the response as it is."),
    must("responses:cancel:stays", "issue ogx#5363", "What was cancelled stays so."),
    should("responses:cancel:no-usage", "spec 3", "A cancelled response has no usage."),
    must("responses:cancel:foreground", "spec 13", "A foreground response cannot be cancelled: 400."),
    must("responses:cancel:unknown", "spec 13", "Cancelling an unknown response is a 404."),
)
