"""Parameters that the response tells back."""

from antiphon.conformance.requirement import Table, must, should

TABLE: Table = (
    should("responses:echo:temperature", "spec 3", "A `temperature` that was set is told back."),
    should("responses:echo:top-p", "spec 3", "A `top_p` that was set is told back."),
    must("responses:echo:metadata", "spec 3", "`metadata` is told back as it was given."),
    should("responses:echo:instructions", "spec 3", "`instructions` are told back as they were given."),
    should("responses:echo:max-output-tokens", "spec 3", "`max_output_tokens` is told back."),
    must("responses:echo:tools", "spec 3", "Function tools are told back with name, description and parameters."),
    should("responses:echo:tools-strict", "spec 3", "A function tool is told back with a boolean `strict`."),
    must("responses:echo:tool-choice", "spec 3", "`tool_choice` is told back."),
    must("responses:echo:parallel-tool-calls", "spec 3", "`parallel_tool_calls` is told back."),
    should("responses:echo:text-format", "spec 3", "`text.format` is told back with its type, name and schema."),
    should("responses:echo:reasoning-effort", "spec 3", "`reasoning.effort` is told back."),
    should("responses:echo:store", "spec 3", "`store` is told back."),
    should("responses:echo:truncation", "spec 3", "`truncation` is told back."),
    should("responses:echo:user", "spec 3", "`user` is told back."),
    should("responses:echo:safety-identifier", "spec 3", "`safety_identifier` is told back."),
    should("responses:echo:prompt-cache-key", "spec 15", "`prompt_cache_key` is told back."),
    should(
        "responses:echo:service-tier",
        "spec 3",
        "The `service_tier` of an ended response is the one that it got, not `auto`.",
    ),
    should("responses:echo:in-stream", "spec 7", "The first event's response tells the parameters back already."),
)
