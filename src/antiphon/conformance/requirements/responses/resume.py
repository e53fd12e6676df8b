"""Streams taken up again."""

from antiphon.conformance.requirement import Table, must, should

TABLE: Table = (
    must("responses:resume:whole", "spec 9", "A background response's stream can be had again, from its beginning."),
    must("responses:resume:after", "spec 9", "`starting_after=N` begins with the event N+1, and leaves none out."),
    must("responses:resume:same", "spec 9", "An event that is sent again is the one that was sent."),
    must("responses:resume:end", "issue litellm#26762", "A stream taken up again comes to the same end."),
    must("responses:resume:after-last", "spec 9", "After the last event there is nothing more, and no error."),
    should("responses:resume:after-word", "spec 13", "A `starting_after` that is no number is refused with 400."),
    must("responses:resume:foreground", "spec 13", "A foreground response's stream cannot be had again: 400."),
    must("responses:resume:unknown", "spec 13", "The stream of an unknown response is a 404."),
)
