"""The stream of events: the rules of `antiphon.testing`, and what they do not say."""

from antiphon.conformance.requirement import Table, may, must, should
from antiphon.conformance.soundness import requirements_of_the_rules

TABLE: Table = (
    must(
        "responses:stream:whole",
        "issue codex#41340",
        "`stream: true` gives a stream of events, each a JSON object, that is not cut off.",
    ),
    *requirements_of_the_rules(),
    should("responses:stream:failed-code-known", "spec 3", "The error code of a failed response is one of the API's."),
    should(
        "responses:stream:no-obfuscation",
        "spec 4",
        "With `include_obfuscation: false` no event has the key `obfuscation`.",
    ),
    may(
        "responses:stream:obfuscation",
        "spec 4",
        "Deltas of text are padded in `obfuscation` unless that is switched off.",
    ),
)
