"""More mutations of the sound streams: what each kind of text, item and place adds to the ones of
the rules.
"""

from antiphon_verify.events.mutations import (
    ADDED,
    DONE,
    FLAT,
    Mutation,
    both,
    cited,
    double,
    drop,
    drop_one,
    insert,
    move,
    put,
    remove,
    swap,
)
from antiphon_verify.events.streams import event

MORE: list[tuple[str, Mutation]] = [
    # Other ways to break the same rules: what each kind of text, item and place adds to them.
    ("event:fields", Mutation("answer", insert({"delta": "x"}, "output_text.delta"), "nothing")),
    ("event:fields", Mutation("answer", insert(event("error"), "output_text.delta"))),
    (
        "stream:sequence-numbers",
        Mutation("answer", remove("completed", "sequence_number"), "numbers"),
    ),
    (
        "stream:sequence-numbers",
        Mutation("answer", put("created", "sequence_number", 1), "numbers"),
    ),
    ("stream:opening-order", Mutation("answer", double("in_progress"))),
    ("stream:opening-order", Mutation("cut", swap("queued", "in_progress"))),
    ("failed:error-before", Mutation("failure", put("error", "error.code", "rate_limit_exceeded"))),
    ("failed:error-set", Mutation("answer", put("completed", "response.error", FLAT))),
    (
        "incomplete:reason",
        Mutation("answer", put("completed", "response.incomplete_details", {"reason": "steered"})),
    ),
    (
        "usage:totals",
        Mutation(
            "answer", put("completed", "response.usage.input_tokens_details.cached_tokens", 11)
        ),
    ),
    ("item:done-once", Mutation("tools", both(drop_one(DONE, 6)))),
    (
        "item:id-unique",
        Mutation("answer", both(*(put(name, "item.id", "rs_1", 2) for name in (ADDED, DONE)))),
    ),
    ("part:kind", Mutation("answer", put("content_part.done", "part.type", "refusal"))),
    ("text:deltas-first", Mutation("calls", drop("custom_tool_call_input.delta"))),
    ("text:done-equals-deltas", Mutation("answer", put("output_text.delta", "delta", "Bye"))),
    ("text:done-equals-deltas", Mutation("answer", put("refusal.delta", "delta", "Yes."))),
    ("text:done-equals-deltas", Mutation("answer", put("reasoning_text.delta", "delta", "x"))),
    (
        "text:done-equals-deltas",
        Mutation("answer", put("reasoning_summary_text.delta", "delta", "x")),
    ),
    (
        "text:done-equals-deltas",
        Mutation("calls", put("custom_tool_call_input.delta", "delta", "x")),
    ),
    (
        "text:done-equals-deltas",
        Mutation("tools", put("code_interpreter_call_code.delta", "delta", "x")),
    ),
    ("text:done-equals-deltas", Mutation("tools", put("shell_call_command.delta", "delta", "x"))),
    (
        "text:done-equals-deltas",
        Mutation("tools", put("shell_call_output_content.delta", "delta.stdout", "x")),
    ),
    (
        "text:done-equals-deltas",
        Mutation("tools", put("apply_patch_call_operation_diff.delta", "delta", "x")),
    ),
    ("text:done-once", Mutation("mcp", drop("mcp_call_arguments.done"))),
    ("text:done-once", Mutation("calls", double("function_call_arguments.done"))),
    ("text:done-once", Mutation("calls", drop("custom_tool_call_input.done"))),
    ("text:done-once", Mutation("tools", drop("shell_call_output_content.done"))),
    ("text:logprobs-equal-deltas", Mutation("answer", put("output_text.delta", "logprobs", []))),
    ("item:equals-text", Mutation("mcp", put(DONE, "item.arguments", "x", 2))),
    ("item:equals-text", Mutation("tools", put(DONE, "item.action.commands", ["ls"], 3))),
    ("item:equals-text", Mutation("tools", put(DONE, "item.output", [], 4))),
    ("item:equals-text", Mutation("tools", put(DONE, "item.operation.diff", "", 5))),
    ("text:done-equals-deltas", Mutation("mcp", put("mcp_call_arguments.delta", "delta", "x"))),
    ("tool:order", Mutation("mcp", swap("mcp_call_arguments.done", "mcp_call.completed"))),
    ("tool:order", Mutation("mcp", swap("mcp_list_tools.in_progress", "mcp_list_tools.failed"))),
    ("tool:step-once", Mutation("mcp", double("mcp_call.in_progress"))),
    ("tool:steps-complete", Mutation("mcp", drop("mcp_call.completed"))),
    ("tool:steps-complete", Mutation("mcp", drop("mcp_list_tools.completed"))),
    ("tool:end-matches-status", Mutation("mcp", put(DONE, "item.error", None, 0))),
    ("tool:end-matches-status", Mutation("mcp", put(DONE, "item.error", "unreachable", 1))),
    ("tool:end-matches-status", Mutation("mcp", put(DONE, "item.status", "failed", 2))),
    ("tool:end-matches-status", Mutation("mcp", drop("mcp_call.failed"))),
    ("tool:end-matches-status", Mutation("mcp", drop("mcp_list_tools.failed"))),
    ("item:opens-empty", Mutation("mcp", put(ADDED, "item.tools", [{}]))),
    ("item:opens-empty", Mutation("mcp", put(ADDED, "item.output", "5", 2))),
    ("item:opens-empty", Mutation("mcp", put(ADDED, "item.arguments", "{}", 3))),
    ("item:done-matches-added", Mutation("mcp", put(DONE, "item.server_label", "cards", 1))),
    ("item:done-matches-added", Mutation("mcp", put(DONE, "item.name", "deal", 2))),
    ("item:done-matches-added", Mutation("mcp", put(DONE, "item.approval_request_id", None, 4))),
    *(
        ("tool:fields", Mutation("mcp", put(DONE, f"item.{name}", None, nth)))
        for name, nth in (
            *(("server_label", 0), ("tools", 1), ("tools.0.name", 1), ("tools.0.input_schema", 1)),
            *(("name", 2), ("server_label", 2), ("arguments", 2)),
            *(("name", 5), ("server_label", 5), ("arguments", 5)),
        )
    ),
    *(
        ("tool:fields", Mutation("tools", put(DONE, "item.action", action)))
        for action in (
            *({"type": "dig", "query": "q"}, {}, "search"),
            *(
                {"type": "find_in_page", "pattern": "x"},
                {"type": "find_in_page", "url": "https://e.example/"},
            ),
            {"type": "search", "query": "q", "sources": [{"type": "url"}]},
        )
    ),
    ("tool:alone", Mutation("mcp", move(ADDED, 5, before=(DONE, 4)))),
    ("tool:alone", Mutation("tools", move(ADDED, 3, before=(DONE, 2)))),
    ("mcp:list-outcome", Mutation("mcp", put(DONE, "item.error", {"message": "unreachable"}, 0))),
    ("mcp:call-outcome", Mutation("mcp", put(DONE, "item.error", {"type": "http_error"}, 2))),
    ("mcp:call-error", Mutation("mcp", put(DONE, "item.error.content", None, 3))),
    (
        "mcp:call-error",
        Mutation("mcp", put(DONE, "item.error", {"type": "mcp_protocol_error", "code": 1}, 3)),
    ),
    (
        "mcp:call-error",
        Mutation("mcp", put(DONE, "item.error", {"type": "timeout", "message": "x"}, 3)),
    ),
    ("mcp:request-whole", Mutation("mcp", put(ADDED, "item.arguments", "", 5))),
    ("annotation:in-text", Mutation("answer", cited(start_index=6))),
    ("annotation:in-text", Mutation("answer", cited(start_index=-1))),
    ("annotation:in-text", Mutation("answer", cited(end_index=10))),
    ("annotation:fields", Mutation("answer", cited(end_index="5"))),
    ("annotation:fields", Mutation("answer", cited(type="file_citation"))),
    ("annotation:fields", Mutation("answer", cited(type="footnote"))),
]
