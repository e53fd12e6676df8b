"""Log probabilities."""

from antiphon.conformance.requirement import Table, must, should

TABLE: Table = (
    must("responses:logprobs:token", "spec 4", "Each token has a string `token` and a number `logprob` of at most 0."),
    should("responses:logprobs:some", "spec 2", "A text comes with log probabilities where they are asked for."),
    must(
        "responses:logprobs:top", "spec 2", "Tokens come with alternatives, at most as many as `top_logprobs` asks for."
    ),
    should("responses:logprobs:joined", "spec 4", "The tokens joined are the text."),
    should("responses:logprobs:unasked", "spec 10", "Without being asked for, none come."),
    should("responses:logprobs:streamed", "spec 4", "In a stream the deltas have them, where a plain answer has them."),
)
