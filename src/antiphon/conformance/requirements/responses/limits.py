"""Answers cut short by `max_output_tokens`."""

from antiphon.conformance.requirement import Table, must, should

TABLE: Table = (
    must("responses:limits:incomplete", "issue vllm#24184", "A cut answer is `incomplete`, never `completed`."),
    must("responses:limits:reason", "spec 3", "`incomplete_details.reason` of it is `max_output_tokens`."),
    must("responses:limits:no-error", "spec 3", "A cut answer is no error: `error` is null."),
    should("responses:limits:item", "open-responses 3", "The item that was cut is `incomplete` too."),
    must("responses:limits:bounded", "spec 2", "No more output tokens are used than `max_output_tokens` allows."),
    must("responses:limits:streamed", "spec 16", "A cut stream ends with `response.incomplete`."),
    must(
        "responses:limits:nothing-dropped",
        "open-responses 9",
        "With `truncation: disabled` a long input is read whole, or refused with a 4xx, or the response fails.",
    ),
    should("responses:limits:usage", "spec 3", "A cut answer has usage."),
)
