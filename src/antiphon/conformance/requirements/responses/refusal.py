"""Refusals of the model."""

from antiphon.conformance.requirement import Table, must

TABLE: Table = (
    must("responses:refusal:part", "spec 5", "A refusal is a content part of type `refusal` with a string `refusal`."),
    must("responses:refusal:no-text", "spec 5", "A refusal has no `text` beside it in its part."),
    must(
        "responses:refusal:status", "spec 16", "A response in which the model refuses is completed, and has no error."
    ),
)
