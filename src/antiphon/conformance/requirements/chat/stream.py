"""Streamed answers."""

from antiphon.conformance.requirement import Table, may, must, should

TABLE: Table = (
    must("chat:stream:streams", "chat-api streaming", "`stream: true` gives a whole stream of JSON objects, no error."),
    must("chat:stream:content-type", "chat-api streaming", "A stream's content type is `text/event-stream`."),
    must("chat:stream:object", "chat-api streaming", "Every chunk is an object `chat.completion.chunk`."),
    must("chat:stream:one-id", "chat-api streaming", "All chunks have the same `id`."),
    must("chat:stream:created", "chat-api streaming", "Every chunk has an integer `created`."),
    should("chat:stream:one-created", "chat-api streaming", "All chunks have the same `created`."),
    must("chat:stream:model", "chat-api streaming", "Every chunk names the model."),
    must(
        "chat:stream:choices",
        "issue langchain#34654",
        "Every chunk has a list of choices, each with an index and a `delta`.",
    ),
    should("chat:stream:role-first", "chat-api streaming", "The first delta tells the role `assistant`."),
    must("chat:stream:content", "chat-api streaming", "A delta's `content` is a string or null."),
    must("chat:stream:finish-reason", "issue bifrost#1821", "One chunk tells the `finish_reason`, one of the API's."),
    should("chat:stream:finish-null", "chat-api streaming", "Until the end `finish_reason` is null or absent."),
    must("chat:stream:finish-last", "issue litellm#17652", "Nothing is said after the `finish_reason`."),
    must("chat:stream:done", "chat-api streaming", "The stream ends with `[DONE]`."),
    must("chat:stream:usage", "chat-api streaming", "With `include_usage` the stream tells its usage."),
    should("chat:stream:usage-last", "chat-api streaming", "Usage comes in the last chunk, which has no choices."),
    should("chat:stream:usage-same", "chat-api streaming", "A streamed prompt counts as many tokens as a plain one."),
    should("chat:stream:usage-null", "chat-api streaming", "Without `include_usage` no chunk tells usage."),
    must("chat:stream:some-text", "chat-api streaming", "A text comes in deltas."),
    may("chat:stream:several-deltas", "chat-api streaming", "A text of some length comes in more than one delta."),
    must("chat:stream:plain", "chat-api streaming", "`stream: false` gives one JSON object."),
)
