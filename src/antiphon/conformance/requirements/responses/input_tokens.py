"""Input tokens counted."""

from antiphon.conformance.requirement import Table, may, must, should

TABLE: Table = (
    must("responses:input-tokens:object", "spec 1", "`/responses/input_tokens` answers with `response.input_tokens`."),
    must("responses:input-tokens:count", "spec 1", "The count is an integer above 0."),
    must("responses:input-tokens:grows", "spec 1", "A longer input counts more."),
    should("responses:input-tokens:extras", "spec 1", "Instructions and tools are counted."),
    should("responses:input-tokens:equals", "spec 1", "The count is what a response to the same input then uses."),
    may(
        "responses:input-tokens:exactness",
        "spec 1",
        "A server that says by a header how exact its count is says `exact` or `estimate`.",
    ),
    must("responses:input-tokens:bad", "spec 13", "A number as input is refused with 400."),
)
