"""Messages of text."""

from antiphon.conformance.requirement import Table, capability, must, should

TABLE: Table = (
    must("responses:text:message", "spec 5", "A plain answer is a message of the role `assistant`."),
    must("responses:text:content", "spec 5", "A message's content is a list of parts, each with a type."),
    must("responses:text:part", "spec 5", "A part of text is `output_text` with a string `text`."),
    must("responses:text:annotations", "client ai-sdk", "A part of text has a list of `annotations`."),
    should(
        "responses:text:logprobs", "open-responses", "A part of text has a list of `logprobs`, if only an empty one."
    ),
    must("responses:text:status", "spec 5", "A message that is whole is `completed`."),
    should("responses:text:last", "spec 16", "What the model says stands after its reasoning."),
    must("responses:text:one-message", "issue agents#4275", "One answer is one message, not the same one twice."),
    capability(should("responses:text:answers", "spec 2", "The model answers a simple question.")),
    capability(should("responses:text:follows-instructions", "spec 2", "The model does as `instructions` say.")),
)
