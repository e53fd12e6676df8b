"""Parameters."""

from antiphon.conformance.requirement import Table, capability, may, must, should

TABLE: Table = (
    must("chat:parameters:stop", "chat-api create", "A `stop` sequence ends the text before it."),
    must("chat:parameters:stop-list", "chat-api create", "`stop` may be a list."),
    should(
        "chat:parameters:stop-reason",
        "chat-api create",
        "A text that a `stop` sequence ended has the finish reason `stop`.",
    ),
    should("chat:parameters:stop-streamed", "chat-api create", "A `stop` sequence ends a streamed text too."),
    must("chat:parameters:max-tokens", "chat-api create", "`max_tokens` bounds the completion's tokens."),
    must("chat:parameters:length", "chat-api create", "A text that `max_tokens` cut has the finish reason `length`."),
    should(
        "chat:parameters:max-completion-tokens",
        "chat-api create",
        "`max_completion_tokens` bounds the completion's tokens as `max_tokens` does.",
    ),
    must(
        "chat:parameters:length-streamed",
        "chat-api create",
        "A stream that `max_tokens` cut has the finish reason `length`.",
    ),
    must("chat:parameters:temperature", "chat-api create", "A `temperature` of 2 is taken."),
    must("chat:parameters:temperature-zero", "chat-api create", "A `temperature` of 0 is taken."),
    must("chat:parameters:top-p", "chat-api create", "`top_p` is taken."),
    should("chat:parameters:penalties", "chat-api create", "`presence_penalty` and `frequency_penalty` are taken."),
    should("chat:parameters:seed", "chat-api create", "`seed` is taken."),
    capability(
        should(
            "chat:parameters:seed-repeats", "chat-api create", "The same seed gives the same text, at temperature 0."
        )
    ),
    should("chat:parameters:n", "chat-api create", "`n: 2` gives two choices of the indexes 0 and 1."),
    should(
        "chat:parameters:logprobs",
        "chat-api create",
        "`logprobs: true` gives a list of tokens, each with its `logprob`.",
    ),
    may("chat:parameters:logprobs-bytes", "chat-api create", "Each token has `bytes`, a list of integers or null."),
    should("chat:parameters:top-logprobs", "chat-api create", "`top_logprobs` bounds the alternatives of each token."),
    should("chat:parameters:logprobs-streamed", "chat-api create", "Log probabilities come in streams too."),
    should("chat:parameters:user", "chat-api create", "`user` is taken."),
    should("chat:parameters:nulls", "chat-api create", "Optional parameters may be null."),
)
