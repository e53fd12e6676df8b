"""Server-sent events, of both APIs."""

from antiphon.conformance.requirement import Table, may, must, should

TABLE: Table = (
    must("transport:sse:content-type", "spec 7", "A Responses stream's content type is `text/event-stream`."),
    may("transport:sse:charset", "spec 7", "The content type names `charset=utf-8`."),
    must(
        "transport:sse:event-line", "open-responses 2", "Every event has an `event:` line that says its data's `type`."
    ),
    must("transport:sse:one-object", "sse", "Every frame's data is one JSON object."),
    must("transport:sse:ended", "sse", "Every frame ends with an empty line, the last one too."),
    should("transport:sse:no-ids", "open-responses 2", "No frame has an `id:` line."),
    should("transport:sse:known-fields", "sse", "Frames have no fields but `event`, `data`, `id` and `retry`."),
    may(
        "transport:sse:comments-in-silence", "sse", "Comments come in silence, not between events that follow at once."
    ),
    must("transport:sse:utf-8", "sse", "A stream is whole UTF-8, whatever the script of its text."),
    may(
        "transport:sse:no-done",
        "spec 0",
        "A Responses stream ends with its last event, without `[DONE]`, as OpenAI's does.",
    ),
    should("transport:sse:no-cache", "http", "A stream says `cache-control: no-cache` or `no-store`."),
    must("transport:sse:uncompressed", "http", "A stream is not compressed for who did not ask for it."),
    must("transport:sse:complete", "issue codex#41340", "A stream comes to its end without a cut connection."),
)
