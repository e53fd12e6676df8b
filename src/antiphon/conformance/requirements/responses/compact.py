"""Compaction."""

from antiphon.conformance.requirement import Table, must, should

TABLE: Table = (
    must("responses:compact:object", "spec 11", "`/responses/compact` answers with an object `response.compaction`."),
    must(
        "responses:compact:item",
        "client codex",
        "A compaction's output holds exactly one compaction item, with `encrypted_content`.",
    ),
    should(
        "responses:compact:users-kept", "spec 11", "The user's messages stand in a compaction's output word for word."
    ),
    should("responses:compact:usage", "spec 11", "A compaction has usage."),
    must("responses:compact:missing-model", "open-responses", "Without a model compaction is refused with 400 or 422."),
    must("responses:compact:taken-back", "spec 11", "A compaction's output is taken as the next request's input."),
    must("responses:compact:chained", "spec 11", "A response that ends in a compaction item can be gone on from."),
    should("responses:compact:by-id", "spec 11", "`/responses/compact` takes a `previous_response_id` alone."),
    must("responses:compact:trigger", "client codex", "A last item `compaction_trigger` gives one compaction item."),
    should("responses:compact:threshold", "spec 11", "`context_management` is accepted."),
    must(
        "responses:compact:foreign", "spec 13", "A compaction item made by nobody is refused with a 4xx, or left out."
    ),
)
