"""Background responses."""

from antiphon.conformance.requirement import Table, must, should

TABLE: Table = (
    must(
        "responses:background:at-once",
        "spec 9",
        "A background response is answered at once, `queued` or `in_progress`.",
    ),
    must(
        "responses:background:empty",
        "spec 9",
        "Until a background response is made, its output is empty and its usage null.",
    ),
    must("responses:background:told", "spec 3", "A background response tells `background: true`."),
    must(
        "responses:background:completed",
        "spec 9",
        "A background response that is asked for again and again is `completed` some time.",
    ),
    must("responses:background:whole", "spec 9", "A completed background response has its output and its usage."),
    should(
        "responses:background:opening",
        "spec 16",
        "A background response's stream begins with created, queued and in_progress.",
    ),
    must("responses:background:streamed", "spec 9", "A background response's stream comes to its end like any other."),
    must(
        "responses:background:stream-stored",
        "spec 9",
        "After its stream a background response can be retrieved, completed.",
    ),
    should("responses:background:unstored", "spec 9", "`store: false` is accepted with `background: true`."),
)
