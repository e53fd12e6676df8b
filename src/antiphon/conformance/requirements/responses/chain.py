"""Chains by `previous_response_id`."""

from antiphon.conformance.requirement import Table, capability, must, should

TABLE: Table = (
    must("responses:chain:taken", "spec 10", "A response goes on from another by `previous_response_id`."),
    must("responses:chain:echoed", "spec 3", "The response tells its `previous_response_id` back."),
    should(
        "responses:chain:counted", "issue ollama#15954", "A chained turn takes more input tokens than the same alone."
    ),
    must("responses:chain:after-stream", "issue lmstudio#1188", "A streamed response can be gone on from at once."),
    must("responses:chain:streamed", "spec 10", "A chained response can be streamed."),
    must("responses:chain:three-deep", "issue ogx#2522", "A chain of three turns holds."),
    must("responses:chain:fork", "spec 10", "Two responses can go on from the same one."),
    must("responses:chain:unstored", "spec 10", "An unstored response cannot be gone on from, and the server says so."),
    must("responses:chain:deleted", "spec 10", "A deleted response cannot be gone on from, and the server says so."),
    should("responses:chain:instructions", "spec 2", "`instructions` are not carried over to the next response."),
    capability(
        should("responses:chain:recalled", "issue ollama#15954", "The model recalls a word of the turn before.")
    ),
)
