"""Log probabilities."""

from antiphon.verify.requirement import Table, must, should

TABLE: Table = (
    must("responses:logprobs:token", "spec 4", "Each token has a string `token` and a number `logprob` of at most 0."),
    must("responses:logprobs:some", "spec 2", "A text comes with log probabilities where they are asked for."),
    must(
        "responses:logprobs:top", "spec 2", "Each token has as many alternatives as `top_logprobs` asks for, or fewer."
    ),
    should("responses:logprobs:joined", "spec 4", "The tokens joined are the text."),
    must("responses:logprobs:unasked", "spec 10", "Without being asked for, none come."),
    must("responses:logprobs:streamed", "spec 4", "In a stream the deltas have them too."),
)
