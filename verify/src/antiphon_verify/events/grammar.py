"""The events of the API as tables: the fields of each, the items it belongs to, the text it is a
piece of.

Specification section 4, with the events that OpenAI sends beyond the SDK's union; the order of a
hosted tool's steps is in section 16. An event's *stem* is its type without the last word:
`response.refusal` for `response.refusal.delta`.
"""

from typing import Any, NamedTuple

OPENING = ("response.created", "response.queued", "response.in_progress")
STATUS = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}
"""Each terminal event's status."""

_RESPONSE: dict[str, type] = {"response": dict}
_INDEX: dict[str, type] = {"output_index": int}
_ITEM: dict[str, type] = {**_INDEX, "item_id": str}
_PART: dict[str, type] = {**_ITEM, "content_index": int}
_SUMMARY: dict[str, type] = {**_ITEM, "summary_index": int}
_COMMAND: dict[str, type] = {**_INDEX, "command_index": int}
_DELTA: dict[str, type] = {"delta": str}

FIELDS: dict[str, dict[str, type]] = {
    **dict.fromkeys((*OPENING, *STATUS), _RESPONSE),
    "error": {},
    "keepalive": {},
    "response.audio.delta": _DELTA,
    "response.audio.done": {},
    "response.audio.transcript.delta": _DELTA,
    "response.audio.transcript.done": {},
    "response.output_item.added": {**_INDEX, "item": dict},
    "response.output_item.done": {**_INDEX, "item": dict},
    "response.content_part.added": {**_PART, "part": dict},
    "response.content_part.done": {**_PART, "part": dict},
    "response.output_text.delta": {**_PART, **_DELTA},
    "response.output_text.done": {**_PART, "text": str},
    "response.output_text.annotation.added": {**_PART, "annotation_index": int, "annotation": dict},
    "response.refusal.delta": {**_PART, **_DELTA},
    "response.refusal.done": {**_PART, "refusal": str},
    "response.reasoning_text.delta": {**_PART, **_DELTA},
    "response.reasoning_text.done": {**_PART, "text": str},
    "response.reasoning_summary_part.added": {**_SUMMARY, "part": dict},
    "response.reasoning_summary_part.done": {**_SUMMARY, "part": dict},
    "response.reasoning_summary_text.delta": {**_SUMMARY, **_DELTA},
    "response.reasoning_summary_text.done": {**_SUMMARY, "text": str},
    "response.function_call_arguments.delta": {**_ITEM, **_DELTA},
    "response.function_call_arguments.done": {**_ITEM, "arguments": str},
    "response.custom_tool_call_input.delta": {**_ITEM, **_DELTA},
    "response.custom_tool_call_input.done": {**_ITEM, "input": str},
    "response.mcp_call_arguments.delta": {**_ITEM, **_DELTA},
    "response.mcp_call_arguments.done": {**_ITEM, "arguments": str},
    "response.code_interpreter_call_code.delta": {**_ITEM, **_DELTA},
    "response.code_interpreter_call_code.done": {**_ITEM, "code": str},
    "response.apply_patch_call_operation_diff.delta": {**_ITEM, **_DELTA},
    "response.apply_patch_call_operation_diff.done": {**_ITEM, "diff": str},
    "response.shell_call_command.added": {**_COMMAND, "command": str},
    "response.shell_call_command.delta": {**_COMMAND, **_DELTA},
    "response.shell_call_command.done": {**_COMMAND, "command": str},
    "response.shell_call_output_content.delta": {**_ITEM, **_COMMAND, "delta": dict},
    "response.shell_call_output_content.done": {**_ITEM, **_COMMAND, "output": list},
    "response.image_generation_call.partial_image": {
        **_ITEM,
        "partial_image_index": int,
        "partial_image_b64": str,
    },
    "response.compaction.compacting": _ITEM,
    **dict.fromkeys(
        (
            *(
                f"response.code_interpreter_call.{step}"
                for step in ("in_progress", "interpreting", "completed")
            ),
            *(
                f"response.file_search_call.{step}"
                for step in ("in_progress", "searching", "completed")
            ),
            *(
                f"response.image_generation_call.{step}"
                for step in ("in_progress", "generating", "completed")
            ),
            *(f"response.mcp_call.{step}" for step in ("in_progress", "completed", "failed")),
            *(f"response.mcp_list_tools.{step}" for step in ("in_progress", "completed", "failed")),
            *(
                f"response.web_search_call.{step}"
                for step in ("in_progress", "searching", "completed")
            ),
        ),
        _ITEM,
    ),
    # WebSocket mode (section 8), and the multi-agent beta (section 19).
    "response.steer.accepted": {},
    "response.steer.pending": {},
    "response.steer.failed": {},
    "response.inject.created": {},
    "response.inject.failed": {},
}
"""Every event's type, and its required fields."""

ITEM_TYPES: dict[str, tuple[str, ...]] = {
    "response.content_part": ("message", "reasoning"),
    "response.output_text": ("message",),
    "response.output_text.annotation": ("message",),
    "response.refusal": ("message",),
    "response.reasoning_text": ("reasoning",),
    "response.reasoning_summary_part": ("reasoning",),
    "response.reasoning_summary_text": ("reasoning",),
    "response.function_call_arguments": ("function_call",),
    "response.custom_tool_call_input": ("custom_tool_call",),
    "response.mcp_call_arguments": ("mcp_call",),
    "response.code_interpreter_call_code": ("code_interpreter_call",),
    "response.apply_patch_call_operation_diff": ("apply_patch_call",),
    "response.shell_call_command": ("shell_call",),
    "response.shell_call_output_content": ("shell_call_output",),
    "response.image_generation_call": ("image_generation_call",),
    "response.compaction": ("compaction",),
    "response.code_interpreter_call": ("code_interpreter_call",),
    "response.file_search_call": ("file_search_call",),
    "response.mcp_call": ("mcp_call",),
    "response.mcp_list_tools": ("mcp_list_tools",),
    "response.web_search_call": ("web_search_call",),
}
"""The items that an event belongs to, by its stem."""


class Text(NamedTuple):
    """A text that arrives in deltas: its key in `done`, its number within its item, its place in
    the item.
    """

    field: str
    numbered_by: str = ""
    item_path: tuple[str, ...] = ()


TEXTS: dict[str, Text] = {
    "response.output_text": Text("text", "content_index"),
    "response.refusal": Text("refusal", "content_index"),
    "response.reasoning_text": Text("text", "content_index"),
    "response.reasoning_summary_text": Text("text", "summary_index"),
    "response.function_call_arguments": Text("arguments", item_path=("arguments",)),
    "response.custom_tool_call_input": Text("input", item_path=("input",)),
    "response.mcp_call_arguments": Text("arguments", item_path=("arguments",)),
    "response.code_interpreter_call_code": Text("code", item_path=("code",)),
    "response.apply_patch_call_operation_diff": Text("diff", item_path=("operation", "diff")),
    "response.shell_call_command": Text("command", "command_index", ("action", "commands")),
    "response.shell_call_output_content": Text("output", "command_index", ("output",)),
}
"""Texts by stem."""

ITEM_TEXTS: dict[str, str] = {
    item_type: stem
    for stem, text in TEXTS.items()
    if text.item_path
    for item_type in ITEM_TYPES[stem]
}
"""The stem of the text of which an item of that type consists."""

PART_TEXTS: dict[str, str] = {
    "output_text": "response.output_text",
    "refusal": "response.refusal",
    "reasoning_text": "response.reasoning_text",
    "summary_text": "response.reasoning_summary_text",
}
"""The stem of a part's text, by the part's type."""

STEPS: dict[str, tuple[str, ...]] = {
    "web_search_call": ("in_progress", "searching", "completed"),
    "file_search_call": ("in_progress", "searching", "completed"),
    "code_interpreter_call": ("in_progress", "interpreting", "completed"),
    "image_generation_call": ("in_progress", "generating", "completed"),
    "mcp_list_tools": ("in_progress", "completed"),
    "mcp_call": ("in_progress", "completed"),
}
"""The steps of a hosted tool's item when it succeeds; `failed` can replace the last."""

STEP_ORDER: dict[str, int] = {
    **{f"response.{item}.in_progress": 0 for item in STEPS},
    "response.mcp_call_arguments.delta": 1,
    "response.mcp_call_arguments.done": 2,
    "response.code_interpreter_call_code.delta": 1,
    "response.code_interpreter_call_code.done": 2,
    "response.code_interpreter_call.interpreting": 3,
    "response.web_search_call.searching": 1,
    "response.file_search_call.searching": 1,
    "response.image_generation_call.generating": 1,
    "response.image_generation_call.partial_image": 2,
    **{f"response.{item}.{end}": 9 for item in STEPS for end in ("completed", "failed")},
}
"""A hosted tool's events in their order; those with a higher number follow later."""


def stem(type: str) -> str:
    """Return an event's type without its last word."""
    return type.rpartition(".")[0]


def at(item: Any, path: tuple[str, ...]) -> Any:
    """Return the value of an item at a path of keys, or None."""
    for key in path:
        item = item.get(key) if isinstance(item, dict) else None
    return item
