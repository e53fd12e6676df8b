"""Structured output."""

from antiphon.conformance.requirement import Table, must, should

API = "chat-api response_format"

TABLE: Table = (
    must("chat:formats:text", API, "A `response_format` of type `text` is taken."),
    must("chat:formats:object", API, "With `json_object` the text is a JSON object."),
    must("chat:formats:strict", API, "With a strict `json_schema` the text is JSON that fits the schema."),
    should("chat:formats:loose", API, "With a `json_schema` that is not strict the text is JSON."),
    must("chat:formats:nested", API, "Nested objects, lists and enums of a strict schema are kept to."),
    must("chat:formats:object-streamed", API, "With `json_object` a streamed text is a JSON object."),
    must("chat:formats:strict-streamed", API, "A streamed text fits a strict schema too."),
    should("chat:formats:with-tools", API, "A format is taken together with tools."),
)
