"""HTTP, under both APIs."""

from antiphon.conformance.requirement import Table, may, must, should

TABLE: Table = (
    should("transport:http:kept-alive", "http", "A connection serves a second request."),
    must("transport:http:length", "http", "A `content-length`, where there is one, is that of the body."),
    must("transport:http:head", "http", "HEAD is never answered by a 5xx."),
    must("transport:http:options", "http", "OPTIONS is never answered by a 5xx."),
    must(
        "transport:http:compressed-request", "issue ollama v0.33", "A compressed body is taken, or refused with a 4xx."
    ),
    must("transport:http:unknown-coding", "http", "A body of an unknown coding is refused with a 4xx."),
    must("transport:http:identity", "http", "Who takes only `identity` gets plain bytes."),
    must("transport:http:left", "spec 7", "Who leaves in mid-stream does the next request no harm."),
    must("transport:http:side-by-side", "spec 13", "Requests sent at once each get their own answer."),
    must("transport:http:large", "spec 2", "An input of 200 kB is taken, or refused with a 4xx."),
    must("transport:http:unknown-headers", "http", "Headers that the server does not know change nothing."),
    should("transport:http:query", "http", "A query that the server does not know changes nothing."),
    must("transport:http:content-type-case", "http", "The content type is read in any case, with a charset."),
    should("transport:http:text", "http", "A body that calls itself plain text is refused with 415 or taken."),
    may("transport:http:date", "http", "Replies have a `date`."),
)
