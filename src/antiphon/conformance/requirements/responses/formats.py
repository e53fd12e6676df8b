"""Structured output."""

from antiphon.conformance.requirement import Table, must, should

TABLE: Table = (
    must("responses:formats:text", "spec 2", "A `text.format` of type `text` is taken."),
    must("responses:formats:strict", "spec 2", "With a strict `json_schema` the text is JSON that fits the schema."),
    should("responses:formats:loose", "spec 2", "With a `json_schema` that is not strict the text is JSON."),
    must("responses:formats:object", "spec 2", "With `json_object` the text is a JSON object."),
    must("responses:formats:streamed", "spec 2", "A streamed text fits a strict schema too."),
    must("responses:formats:nested", "spec 2", "Nested objects, lists and enums of a strict schema are kept to."),
    should("responses:formats:with-tools", "spec 2", "A format is taken together with tools."),
    should("responses:formats:verbosity", "spec 2", "`text.verbosity` is taken."),
)
