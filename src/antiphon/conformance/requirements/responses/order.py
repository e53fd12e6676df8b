"""Which of two faults is told."""

from antiphon.conformance.requirement import Table, should

TABLE: Table = (
    should("responses:order:model-before-input", "spec 13", "Where model and input are missing, the model is told."),
    should("responses:order:missing-before-unknown", "spec 13", "A missing model is told before an unknown parameter."),
    should("responses:order:input-before-enum", "spec 13", "A missing input is told before an unknown value."),
    should("responses:order:unknown-before-types", "spec 13", "An unknown parameter is told before a wrong type."),
    should("responses:order:input-before-tools", "spec 13", "A fault in the input is told before one in the tools."),
    should(
        "responses:order:shape-before-state",
        "spec 13",
        "A wrong value is told before an unknown `previous_response_id`.",
    ),
    should("responses:order:one-error", "spec 13", "Of several faults one is told, with one param."),
)
