"""Headers of replies."""

from antiphon.conformance.requirement import Table, may, must, should

TABLE: Table = (
    must("responses:headers:json", "spec 14", "A plain reply's content type is `application/json`."),
    must("responses:headers:error-json", "spec 13", "An error's content type is `application/json` too."),
    should("responses:headers:request-id", "spec 14", "Every reply has an `x-request-id`."),
    should("responses:headers:request-ids-differ", "spec 14", "No two replies have the same `x-request-id`."),
    should("responses:headers:error-request-id", "spec 14", "An error has an `x-request-id` too."),
    may("responses:headers:processing-ms", "spec 14", "A reply tells its time in `openai-processing-ms`."),
    may("responses:headers:version", "spec 14", "A reply tells the API's `openai-version`."),
    may("responses:headers:nosniff", "spec 13", "A reply has `x-content-type-options: nosniff`."),
    may("responses:headers:expose", "spec 14", "A reply lets browsers read its `x-request-id`."),
    must("responses:headers:preflight", "http", "A browser's preflight request is never answered by a 5xx."),
    must("responses:headers:key-not-told", "spec 13", "A wrong key is not repeated whole in any answer."),
    must("responses:headers:key-odd", "spec 13", "A key of odd characters is never answered by a 5xx."),
    should("responses:headers:challenge", "spec 13", "A 401 has `www-authenticate`, and an error that SDKs can read."),
)
