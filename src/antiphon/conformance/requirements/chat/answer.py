"""Plain answers."""

from antiphon.conformance.requirement import Table, capability, may, must, should

TABLE: Table = (
    must("chat:answer:object", "chat-api object", "A plain answer is an object `chat.completion`."),
    must("chat:answer:id", "chat-api object", "`id` is a string with something in it."),
    must("chat:answer:created", "chat-api object", "`created` is a time in seconds since 1970, an integer."),
    must("chat:answer:model", "chat-api object", "`model` names a model."),
    must("chat:answer:choices", "chat-api object", "`choices` is a list with one choice of index 0."),
    must("chat:answer:message", "chat-api object", "A choice's `message` has the role `assistant`."),
    must(
        "chat:answer:content",
        "chat-api object",
        "A message's `content` is a string, or null beside calls, a refusal or reasoning.",
    ),
    must("chat:answer:finish-reason", "chat-api object", "`finish_reason` is one of the API's."),
    may("chat:answer:refusal", "chat-api object", "A message has the key `refusal`, null where there is none."),
    may("chat:answer:logprobs", "chat-api object", "A choice has `logprobs`, null where none were asked for."),
    must("chat:answer:usage", "chat-api object", "`usage` counts prompt, completion and total tokens as integers."),
    must("chat:answer:usage-total", "chat-api object", "Total tokens are prompt plus completion tokens."),
    should("chat:answer:usage-counted", "chat-api object", "An answer has used some tokens of both kinds."),
    must("chat:answer:ids-differ", "chat-api object", "Different questions get answers of different ids."),
    must("chat:answer:system", "chat-api messages", "A message of the role `system` is taken."),
    should("chat:answer:developer", "chat-api messages", "A message of the role `developer` is taken."),
    must("chat:answer:several-turns", "chat-api messages", "A history of several turns is taken."),
    must("chat:answer:parts", "chat-api messages", "Content may be a list of text parts."),
    should("chat:answer:system-parts", "chat-api messages", "A system message's content may be a list of text parts."),
    should("chat:answer:assistant-parts", "chat-api messages", "An assistant's content may be a list of text parts."),
    should("chat:answer:named-user", "chat-api messages", "A message may have a `name`."),
    must(
        "chat:answer:any-script", "chat-api messages", "A text may be of any script, with emoji and marks of direction."
    ),
    capability(should("chat:answer:answers", "chat-api object", "The model answers a simple question.")),
    capability(should("chat:answer:recalls", "chat-api messages", "The model recalls a word of an earlier turn.")),
    capability(should("chat:answer:obeys", "chat-api messages", "The model does as the system message says.")),
)
