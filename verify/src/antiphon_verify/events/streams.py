"""Small sound streams, and how one is built: items with their events, snapshots, sequence
numbers.
"""

from copy import deepcopy
from typing import Any

Event = dict[str, Any]
"""An event as plain JSON."""

RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1763000000,
    "completed_at": None,
    "status": "in_progress",
    "error": None,
    "incomplete_details": None,
    "metadata": {},
    "model": "m",
    "output": [],
    "usage": None,
}
USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 2},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 1},
    "total_tokens": 15,
}


def event(type: str, **fields: Any) -> Event:
    """Return an event of a type, which is written without `response.`."""
    return {"type": type if type in ("error", "keepalive") else f"response.{type}", **fields}


def numbered(events: list[Event]) -> list[Event]:
    """Return the events with sequence numbers."""
    return [{**each, "sequence_number": number} for number, each in enumerate(events)]


def done_items(events: list[Event]) -> list[dict[str, Any]]:
    """Return the completed items of a stream."""
    done = {
        each["output_index"]: each["item"]
        for each in events
        if each["type"] == "response.output_item.done"
    }
    return deepcopy([done[index] for index in sorted(done)])


def stream(*items: list[Event], queued: bool = False, **end: Any) -> list[Event]:
    """Return a stream around the events of its items; `end` are fields of the terminal snapshot,
    beyond the output.
    """
    begun = [event("created", response=RESPONSE), event("in_progress", response=RESPONSE)]
    if queued:
        waiting = {**RESPONSE, "status": "queued"}
        begun = [event("created", response=waiting), event("queued", response=waiting), begun[1]]
    middle = [each for item in items for each in item]
    final = {**RESPONSE, "output": done_items(middle), "usage": USAGE, **end}
    whole = numbered([*begun, *middle, event(final["status"], response=final)])
    return [deepcopy(each) for each in whole]  # one by one, so that no two events share anything


def item(index: int, added: dict[str, Any], inside: list[Event], **done: Any) -> list[Event]:
    """Return all events of an item; each has its index, and its `item_id` unless the item is a
    shell call.
    """
    place = {"output_index": index}
    named = {**place, "item_id": added["id"]}
    return [
        event("output_item.added", **place, item=added),
        *(
            {**each, **(place if "shell_call_command" in each["type"] else named)}
            for each in inside
        ),
        event("output_item.done", **place, item={**added, **done}),
    ]


def message(index: int, id: str = "msg_1", status: str = "completed") -> list[Event]:
    """Return a text with log probabilities and a citation, then a refusal."""
    logprobs = [{"token": "Hello", "logprob": -0.1}, {"token": " you", "logprob": -0.2}]
    citation = {
        "type": "url_citation",
        "url": "https://e.example/",
        "title": "E",
        "start_index": 0,
        "end_index": 5,
    }
    text = {
        "type": "output_text",
        "text": "Hello you",
        "annotations": [citation],
        "logprobs": logprobs,
    }
    refusal = {"type": "refusal", "refusal": "No."}
    inside = [
        event(
            "content_part.added",
            content_index=0,
            part={**text, "text": "", "annotations": [], "logprobs": []},
        ),
        event("output_text.delta", content_index=0, delta="Hello", logprobs=logprobs[:1]),
        event(
            "output_text.annotation.added", content_index=0, annotation_index=0, annotation=citation
        ),
        event("output_text.delta", content_index=0, delta=" you", logprobs=logprobs[1:]),
        event("output_text.done", content_index=0, text="Hello you", logprobs=logprobs),
        event("content_part.done", content_index=0, part=text),
        event("content_part.added", content_index=1, part={"type": "refusal", "refusal": ""}),
        event("refusal.delta", content_index=1, delta="No."),
        event("refusal.done", content_index=1, refusal="No."),
        event("content_part.done", content_index=1, part=refusal),
    ]
    added: dict[str, Any] = {
        "id": id,
        "type": "message",
        "status": "in_progress",
        "role": "assistant",
        "content": [],
    }
    return item(index, added, inside, status=status, content=[text, refusal])


def summarized(index: int, status: str = "completed") -> list[Event]:
    """Return reasoning with a summary."""
    part = {"type": "summary_text", "text": "Plan"}
    inside = [
        event("reasoning_summary_part.added", summary_index=0, part={**part, "text": ""}),
        event("reasoning_summary_text.delta", summary_index=0, delta="Pl"),
        event("reasoning_summary_text.delta", summary_index=0, delta="an"),
        event("reasoning_summary_text.done", summary_index=0, text="Plan"),
        event("reasoning_summary_part.done", summary_index=0, part=part),
    ]
    added: dict[str, Any] = {
        "id": "rs_1",
        "type": "reasoning",
        "status": "in_progress",
        "summary": [],
    }
    return item(index, added, inside, status=status, summary=[part])


def reasoned(index: int) -> list[Event]:
    """Return reasoning with its text."""
    part = {"type": "reasoning_text", "text": "Let me think"}
    inside = [
        event("content_part.added", content_index=0, part={**part, "text": ""}),
        event("reasoning_text.delta", content_index=0, delta="Let me"),
        event("reasoning_text.delta", content_index=0, delta=" think"),
        event("reasoning_text.done", content_index=0, text="Let me think"),
        event("content_part.done", content_index=0, part=part),
    ]
    added: dict[str, Any] = {
        "id": "rs_2",
        "type": "reasoning",
        "status": "in_progress",
        "summary": [],
        "content": [],
    }
    return item(index, added, inside, status="completed", content=[part])


def grown(stem: str, field: str, *deltas: str) -> list[Event]:
    """Return the deltas of a text, and the event that ends it."""
    return [
        *(event(f"{stem}.delta", delta=delta) for delta in deltas),
        event(f"{stem}.done", **{field: "".join(deltas)}),
    ]


def call(index: int, number: int = 1) -> list[Event]:
    """Return a function call."""
    added = {"id": f"fc_{number}", "type": "function_call", "status": "in_progress"}
    added |= {"call_id": f"call_{number}", "name": "f", "arguments": ""}
    inside = grown("function_call_arguments", "arguments", '{"a":', "1}")
    return item(index, added, inside, status="completed", arguments='{"a":1}')


def interleaved(first: int) -> list[Event]:
    """Return two calls that are open at once."""
    pairs = zip(call(first, 1), call(first + 1, 2), strict=True)
    return [each for pair in pairs for each in pair]


def custom_call(index: int) -> list[Event]:
    """Return a call of a custom tool."""
    added = {
        "id": "ctc_1",
        "type": "custom_tool_call",
        "call_id": "call_3",
        "name": "sql",
        "input": "",
    }
    return item(
        index, added, grown("custom_tool_call_input", "input", "SELECT ", "1"), input="SELECT 1"
    )


def steps(kind: str, *names: str) -> list[Event]:
    """Return the steps of a hosted tool."""
    return [event(f"{kind}.{name}") for name in names]


def web_search(index: int) -> list[Event]:
    """Return a web search."""
    added = {"id": "ws_1", "type": "web_search_call", "status": "in_progress"}
    inside = steps("web_search_call", "in_progress", "searching", "completed")
    return item(index, added, inside, status="completed", action={"type": "search", "query": "q"})


def code_interpreter(index: int) -> list[Event]:
    """Return a call of the code interpreter."""
    added = {
        "id": "ci_1",
        "type": "code_interpreter_call",
        "status": "in_progress",
        "code": "",
        "container_id": "c",
    }
    inside = [
        *steps("code_interpreter_call", "in_progress"),
        *grown("code_interpreter_call_code", "code", "print(", "1)"),
        *steps("code_interpreter_call", "interpreting", "completed"),
    ]
    return item(index, added, inside, status="completed", code="print(1)")


def mcp_tools(index: int) -> list[Event]:
    """Return the list of an MCP server's tools."""
    added: dict[str, Any] = {
        "id": "mcpl_1",
        "type": "mcp_list_tools",
        "server_label": "dice",
        "tools": [],
        "error": None,
    }
    tools = [
        {
            "name": "roll",
            "description": "d",
            "input_schema": {"type": "object"},
            "annotations": None,
        }
    ]
    return item(index, added, steps("mcp_list_tools", "in_progress", "completed"), tools=tools)


def mcp_tools_failed(index: int) -> list[Event]:
    """Return a list of tools that failed: the item has an error, and no status."""
    added: dict[str, Any] = {
        "id": "mcpl_2",
        "type": "mcp_list_tools",
        "server_label": "dead",
        "tools": [],
        "error": None,
    }
    return item(index, added, steps("mcp_list_tools", "in_progress", "failed"), error="unreachable")


def mcp_call(
    index: int, id: str, argument_events: list[Event], end: str = "completed", **fields: Any
) -> list[Event]:
    """Return an MCP call; `fields` are those of the added item, and `output` and `error` of the
    completed one.
    """
    at_first: dict[str, Any] = {
        "arguments": "",
        "approval_request_id": None,
        "output": None,
        "error": None,
    }
    at_last: dict[str, Any] = {key: fields.pop(key) for key in ("output", "error") if key in fields}
    added: dict[str, Any] = {
        "id": id,
        "type": "mcp_call",
        "status": "in_progress",
        "name": "roll",
        "server_label": "dice",
    }
    inside = [*steps("mcp_call", "in_progress"), *argument_events, *steps("mcp_call", end)]
    done: dict[str, Any] = {"arguments": argument_events[-1]["arguments"], "status": end, **at_last}
    return item(index, added | at_first | fields, inside, **done)


def rolled(index: int) -> list[Event]:
    """Return an MCP call with its output."""
    return mcp_call(
        index, "mcp_1", grown("mcp_call_arguments", "arguments", '{"e":', '"2d4"}'), output="5"
    )


def roll_failed(index: int) -> list[Event]:
    """Return an MCP call that failed."""
    error = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "boom"}]}
    return mcp_call(
        index, "mcp_2", grown("mcp_call_arguments", "arguments", "{}"), "failed", error=error
    )


def roll_approved(index: int) -> list[Event]:
    """Return an approved call: it has its arguments from the start."""
    argument_events = [event("mcp_call_arguments.done", arguments="{}")]
    return mcp_call(
        index, "mcp_3", argument_events, output="5", approval_request_id="mcpr_0", arguments="{}"
    )


def roll_requested(index: int) -> list[Event]:
    """Return a request to approve an MCP call."""
    request = {
        "id": "mcpr_1",
        "type": "mcp_approval_request",
        "arguments": "{}",
        "name": "roll",
        "server_label": "dice",
    }
    return item(index, request, [])


def image(index: int) -> list[Event]:
    """Return an image with a partial image."""
    added: dict[str, Any] = {
        "id": "ig_1",
        "type": "image_generation_call",
        "status": "in_progress",
        "result": None,
    }
    partial = event(
        "image_generation_call.partial_image", partial_image_index=0, partial_image_b64="AAAA"
    )
    begun = steps("image_generation_call", "in_progress", "generating")
    ended = steps("image_generation_call", "completed")
    return item(index, added, [*begun, partial, *ended], status="completed", result="BBBB")


def shell(index: int) -> list[Event]:
    """Return a shell call with two commands."""
    added = {
        "id": "sh_1",
        "type": "shell_call",
        "status": "in_progress",
        "call_id": "call_4",
        "action": {"commands": []},
    }
    inside = [
        event("shell_call_command.added", command_index=0, command=""),
        *(
            {**each, "command_index": 0}
            for each in grown("shell_call_command", "command", "echo ", "hi")
        ),
        event("shell_call_command.added", command_index=1, command=""),
        *({**each, "command_index": 1} for each in grown("shell_call_command", "command", "ls")),
    ]
    return item(index, added, inside, status="completed", action={"commands": ["echo hi", "ls"]})


def shell_output(index: int) -> list[Event]:
    """Return the output of a shell call."""
    ended = {"stdout": "hi\n", "stderr": "oh", "outcome": {"type": "exit", "exit_code": 0}}
    inside = [
        event("shell_call_output_content.delta", command_index=0, delta={"stdout": "hi\n"}),
        event("shell_call_output_content.delta", command_index=0, delta={"stderr": "oh"}),
        event("shell_call_output_content.done", command_index=0, output=[ended]),
    ]
    added: dict[str, Any] = {
        "id": "sho_1",
        "type": "shell_call_output",
        "status": "completed",
        "call_id": "call_4",
        "output": [],
    }
    return item(index, added, inside, output=[ended])


def patch(index: int) -> list[Event]:
    """Return a call of `apply_patch`."""
    operation = {"type": "create_file", "path": "a.md", "diff": ""}
    added = {
        "id": "apc_1",
        "type": "apply_patch_call",
        "status": "in_progress",
        "call_id": "call_5",
    }
    inside = grown("apply_patch_call_operation_diff", "diff", "+hi", "\n")
    whole = {**operation, "diff": "+hi\n"}
    return item(
        index, {**added, "operation": operation}, inside, status="completed", operation=whole
    )


def compaction(index: int) -> list[Event]:
    """Return a compaction."""
    added = {"id": "cmp_1", "type": "compaction", "encrypted_content": "x"}
    return item(index, added, [event("compaction.compacting")])


WELL: dict[str, Any] = {"status": "completed", "completed_at": 1763000002}
CUT: dict[str, Any] = {
    "status": "incomplete",
    "incomplete_details": {"reason": "max_output_tokens"},
}
ERROR = {
    "type": "server_error",
    "code": "server_error",
    "message": "The backend broke off.",
    "param": None,
}

STREAMS: dict[str, list[Event]] = {
    "answer": stream(summarized(0), [event("keepalive")], message(1), reasoned(2), **WELL),
    "calls": stream(interleaved(0), custom_call(2), **WELL),
    "mcp": stream(
        *(
            mcp_tools_failed(0),
            mcp_tools(1),
            rolled(2),
            roll_failed(3),
            roll_approved(4),
            roll_requested(5),
        ),
        **WELL,
    ),
    "tools": stream(
        web_search(0),
        code_interpreter(1),
        image(2),
        shell(3),
        shell_output(4),
        patch(5),
        compaction(6),
        **WELL,
    ),
    "cut": stream(summarized(0), message(1, status="incomplete"), queued=True, **CUT),
    "failure": stream(
        message(0, status="incomplete"),
        [event("error", error=ERROR)],
        status="failed",
        error=ERROR,
        usage=None,
    ),
}
