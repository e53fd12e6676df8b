"""Reasoning."""

from antiphon.conformance.requirement import Table, must, should

TABLE: Table = (
    must("responses:reasoning:accepted", "spec 2", "`reasoning.effort` is accepted."),
    should("responses:reasoning:summary-accepted", "spec 2", "`reasoning.summary` is accepted."),
    must("responses:reasoning:summary", "spec 5", "A reasoning item has a list `summary`, if only an empty one."),
    must(
        "responses:reasoning:summary-parts", "spec 5", "A part of the summary is `summary_text` with a string `text`."
    ),
    must(
        "responses:reasoning:content-parts", "spec 5", "A part of its content is `reasoning_text` with a string `text`."
    ),
    must("responses:reasoning:id", "spec 5", "A reasoning item has an `id`."),
    should("responses:reasoning:id-prefix", "spec 3", "A reasoning item's id begins with `rs_`."),
    should("responses:reasoning:first", "spec 16", "Reasoning stands before the message that it led to."),
    must("responses:reasoning:not-in-text", "issue vllm#43395", "No `<think>` tags stand in the text of the answer."),
    should(
        "responses:reasoning:encrypted-only-when-asked",
        "spec 10",
        "`encrypted_content` comes only with `store: false` or where `include` asks for it.",
    ),
    should("responses:reasoning:encrypted", "spec 10", "With `store: false` a reasoning item has `encrypted_content`."),
    must("responses:reasoning:encrypted-taken", "client codex", "Encrypted reasoning is taken back as it came."),
    must(
        "responses:reasoning:encrypted-forged",
        "spec 13",
        "Encrypted reasoning that was tampered with is refused with a 4xx, or left out.",
    ),
    should("responses:reasoning:counted", "spec 3", "Where there is reasoning, usage counts its tokens."),
    must("responses:reasoning:include-accepted", "spec 10", "`include` may ask for `reasoning.encrypted_content`."),
)
