"""WebSocket mode."""

from antiphon.conformance.requirement import Table, may, must, should

TABLE: Table = (
    should("responses:websocket:refused-well", "issue codex#19821", "A server without WebSocket mode says so by 426."),
    must("responses:websocket:created", "spec 8", "`response.create` gives the events of a stream, to their end."),
    must("responses:websocket:messages", "spec 8", "Each message is one JSON object, an event, without any framing."),
    must(
        "responses:websocket:twice", "open-responses 13", "A second `response.create` on the same socket is answered."
    ),
    must("responses:websocket:ids-differ", "spec 8", "Two responses on a socket have ids of their own."),
    must("responses:websocket:warm-up", "spec 8", "`generate: false` gives a response with an id, and no output."),
    must("responses:websocket:warm-up-used", "client codex", "A warm-up's id can be gone on from."),
    must("responses:websocket:continued", "spec 8", "An unstored response can be gone on from on the same socket."),
    must(
        "responses:websocket:lost", "spec 8", "On a new socket an unstored response is `previous_response_not_found`."
    ),
    must(
        "responses:websocket:error-shape",
        "spec 8",
        "An error is an event `error` with `status` and an `error` with a message.",
    ),
    must("responses:websocket:survives", "spec 8", "After an error the socket takes another `response.create`."),
    should("responses:websocket:bad-json", "spec 8", "A message that is no JSON is answered by an error."),
    should("responses:websocket:unknown-type", "spec 8", "A message of an unknown type is answered by an error."),
    must(
        "responses:websocket:bad-request",
        "spec 8",
        "A bad `response.create` is answered by an error that names the param.",
    ),
    should("responses:websocket:lane", "spec 8", "The events of a `stream_id` have that `stream_id`."),
    should("responses:websocket:no-lane", "spec 8", "The events of no `stream_id` have none."),
    should(
        "responses:websocket:bad-lane", "spec 8", "A `stream_id` of odd characters is an error `invalid_stream_id`."
    ),
    should(
        "responses:websocket:evicted",
        "open-responses 13",
        "A continuation that fails takes its unstored parent with it.",
    ),
    must(
        "responses:websocket:compacted",
        "open-responses 13",
        "What `/responses/compact` gave begins a new chain on a socket, without a `previous_response_id`.",
    ),
    should(
        "responses:websocket:steer-unknown",
        "spec 8",
        "A `response.steer` of a response that is not there is a `response.steer.failed`, `response_not_found`.",
    ),
    must(
        "responses:websocket:steer-failed",
        "spec 8",
        "A steer that fails gives its input back, beside an error with a code and a message.",
    ),
    should(
        "responses:websocket:steer-answered",
        "spec 8",
        "A `response.steer` is answered by `response.steer.accepted` or `response.steer.failed`.",
    ),
    must(
        "responses:websocket:steer-accepted",
        "spec 8",
        "An accepted steer has an id, and the `previous_response_id` that it was for.",
    ),
    must("responses:websocket:steered", "spec 8", "A response that was steered ends, and so does what follows it."),
    may("responses:websocket:no-stream", "open-responses 13", "`background: true` in a `response.create` is refused."),
)
