"""Plain and streamed, the same."""

from antiphon.conformance.requirement import Table, must, should

TABLE: Table = (
    should("responses:same:keys", "open-responses", "The last event's response has every key that a plain answer has."),
    must(
        "responses:same:items", "issue litellm#21090", "A forced call gives items of the same types streamed and plain."
    ),
    must(
        "responses:same:output",
        "issue litellm#41009",
        "The last event's response has its whole output, as a plain answer has.",
    ),
    should("responses:same:item-keys", "spec 5", "A message has the same keys streamed and plain."),
    must("responses:same:stored", "issue lmstudio#1188", "What is stored of a stream is what its last event said."),
    must("responses:same:null-stream", "spec 2", "`stream: false` gives one JSON object, as its absence does."),
)
