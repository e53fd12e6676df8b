"""Tools as agents offer them: one, a hundred as they come from MCP servers, and the list of
Codex.
"""

from typing import Any

from bench.agents.texts import prose

MOST = 128
"""Tools that a request may have in `tools`; the API rejects more. Items of type `additional_tools`
have no limit.
"""

Tool = dict[str, Any]
Schema = dict[str, Any]

_ENUM = ["complete", "blocked", "paused"]
_STRINGS = {"type": "array", "items": {"type": "string"}}

_SHAPES: tuple[dict[str, tuple[Any, int]], ...] = (
    {"path": ("string", 60)},
    {"query": ("string", 80), "limit": ("number", 50), "cursor": ("string", 70)},
    {
        "owner": ("string", 40),
        "repository": ("string", 45),
        "number": ("integer", 60),
        "state": (_ENUM, 90),
    },
    {
        "title": ("string", 60),
        "body": ("string", 120),
        "labels": (_STRINGS, 80),
        "is_draft": ("boolean", 75),
    },
    {
        "command": ("string", 60),
        "arguments": (_STRINGS, 90),
        "environment": ({"type": "object", "additionalProperties": {"type": "string"}}, 110),
        "timeout": ("number", 80),
        "is_sudo": ("boolean", 70),
    },
)
"""Parameters by name: a JSON type, the values of an enum or a schema, and the characters of the
description.
"""

_CODEX: tuple[tuple[str, int, dict[str, tuple[Any, int]]], ...] = (
    (
        "exec_command",
        82,
        {
            "cmd": ("string", 25),
            "justification": ("string", 70),
            "login": ("boolean", 80),
            "max_output_tokens": ("number", 87),
            "prefix_rule": (_STRINGS, 118),
            "sandbox_permissions": (["use_default", "require_escalated"], 107),
            "shell": ("string", 61),
            "tty": ("boolean", 72),
            "workdir": ("string", 60),
            "yield_time_ms": ("number", 83),
        },
    ),
    (
        "write_stdin",
        80,
        {
            "session_id": ("number", 47),
            "chars": ("string", 72),
            "max_output_tokens": ("number", 87),
            "yield_time_ms": ("number", 128),
        },
    ),
    ("view_image", 124, {"path": ("string", 39)}),
    ("get_goal", 122, {}),
    ("create_goal", 265, {"objective": ("string", 151), "token_budget": ("integer", 73)}),
    ("update_goal", 1541, {"status": (_ENUM, 370)}),
)
"""Functions of Codex 0.169: the name, the characters of the description, and the parameters as in
`_SHAPES`.
"""


def functions(count: int) -> list[Tool]:
    """Return so many different functions, of 340 to 1,260 bytes each."""
    return [
        _function(
            f"server_{number // 20}_tool_{number}",
            60 + number * 37 % 300,
            _SHAPES[number % len(_SHAPES)],
        )
        for number in range(count)
    ]


def codex() -> list[Tool]:
    """Return the tools of Codex: seven functions, a custom tool with a grammar, a search for tools,
    and web search.
    """
    grammar = {"type": "grammar", "syntax": "lark", "definition": _GRAMMAR}
    return [
        *(_function(*one) for one in _CODEX),
        _questions(),
        {"type": "custom", "name": "apply_patch", "description": prose(108, 7), "format": grammar},
        {
            "type": "tool_search",
            "execution": "client",
            "description": prose(372, 8),
            "parameters": _object({"query": ("string", 32), "limit": ("number", 49)}),
        },
        {
            "type": "web_search",
            "external_web_access": False,
            "search_content_types": ["text", "image"],
        },
    ]


_GRAMMAR = (
    "start: head change+ foot\n"
    'head: "*** Begin" LF\n'
    'foot: "*** End" LF?\n'
    "change: added | removed | edited\n"
    'added: "*** New: " NAME LF line+\n'
    'removed: "*** Gone: " NAME LF\n'
    'edited: "*** Edit: " NAME LF moved? hunk*\n'
    'moved: "*** Now: " NAME LF\n'
    'hunk: ("@@" | "@@ " NAME) LF (kept | old | new)+ last?\n'
    'line: "+" TEXT LF\n'
    'kept: " " TEXT LF\n'
    'old: "-" TEXT LF\n'
    'new: "+" TEXT LF\n'
    'last: "*** Last" LF\n'
    "NAME: /[^\\n]+/\n"
    "TEXT: /[^\\n]*/\n"
    "%import common.LF\n"
)
"""A grammar of patches, of the kind that Codex sends."""


def _questions() -> Tool:
    """Return the function with the deepest schema of Codex: questions that have options."""
    option = _object({"label": ("string", 30), "description": ("string", 58)}, 2)
    question = _object(
        {
            "id": ("string", 51),
            "header": ("string", 55),
            "question": ("string", 41),
            "options": ({"type": "array", "items": option}, 224),
        },
        4,
    )
    return _function(
        "request_user_input", 120, {"questions": ({"type": "array", "items": question}, 56)}
    )


def _function(name: str, described: int, parameters: dict[str, tuple[Any, int]]) -> Tool:
    return {
        "type": "function",
        "name": name,
        "description": prose(described, len(name)),
        "strict": False,
        "parameters": _object(parameters),
    }


def _object(parameters: dict[str, tuple[Any, int]], required: int = 1) -> Schema:
    return {
        "type": "object",
        "properties": {
            name: {**_schema(kind), "description": prose(length, length)}
            for name, (kind, length) in parameters.items()
        },
        "required": [*parameters][:required],
        "additionalProperties": False,
    }


def _schema(kind: Any) -> Schema:
    if isinstance(kind, list):
        return {"type": "string", "enum": kind}
    return kind if isinstance(kind, dict) else {"type": kind}
