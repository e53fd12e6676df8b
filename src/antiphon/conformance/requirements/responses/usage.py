"""Usage."""

from antiphon.conformance.requirement import Table, must, should

TABLE: Table = (
    must("responses:usage:counts", "client llama-index", "`usage` counts input, output and total tokens as integers."),
    must("responses:usage:total", "spec 3", "Total tokens are input plus output tokens."),
    should("responses:usage:input-details", "spec 3", "`input_tokens_details.cached_tokens` is an integer."),
    should("responses:usage:output-details", "spec 3", "`output_tokens_details.reasoning_tokens` is an integer."),
    should("responses:usage:counted", "issue agents#2126", "An answer has used some input and some output tokens."),
    should("responses:usage:plausible", "spec 3", "A question of three words takes fewer than 10,000 input tokens."),
    should("responses:usage:grows", "spec 3", "A longer input takes more tokens than a shorter one."),
    must("responses:usage:streamed", "issue agents#1179", "A stream's last event has usage as a plain answer has."),
)
