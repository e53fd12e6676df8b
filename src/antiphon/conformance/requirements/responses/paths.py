"""Paths and methods."""

from antiphon.conformance.requirement import Table, must, should

TABLE: Table = (
    must("responses:paths:unknown", "spec 13", "A path that is not served is a 404."),
    should(
        "responses:paths:unknown-envelope", "spec 13", "The 404 of an unknown path has an error that SDKs can read."
    ),
    should("responses:paths:method", "http", "A method that a path does not have is a 405."),
    should("responses:paths:allow", "http", "A 405 lists the path's methods in `Allow`."),
    should("responses:paths:get-on-create", "http", "`GET /responses` is refused with a 405 or a 404."),
    must("responses:paths:odd-ids", "spec 13", "An id of odd characters is not found, and never a 5xx."),
    should("responses:paths:odd-ids-envelope", "spec 13", "The 404 of an odd id has an error that SDKs can read."),
    must("responses:paths:long-id", "spec 13", "An id of 4,000 characters is refused with a 4xx."),
    should("responses:paths:traversal", "spec 13", "Dots and slashes in an id, encoded, lead nowhere else."),
    must("responses:paths:query", "http", "A query that a path does not know changes nothing."),
    must("responses:paths:text-body", "http", "A body of another content type is taken as JSON or refused with a 4xx."),
)
