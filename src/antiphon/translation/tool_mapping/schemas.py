"""The arguments of tools that are functions only to a chat model, as JSON Schemas (specification section 5.1)."""

from typing import Any

TEXT = {"type": "string"}
INTEGER = {"type": "integer"}
TEXTS = {"type": "array", "items": TEXT}
SOME = {"minItems": 1}
"""Says that a list must not be empty; where a grammar holds the model to the schema, that helps."""


def object_of(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    """Return the schema of an object that has these properties and no others."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


QUERY = object_of(
    ("query",),
    query={"type": "string", "description": "What the tool should do, in a few words."},
    limit={"type": "integer", "description": "How many tools to find at most."},
)
COMMAND = object_of(
    ("command",),
    command={**TEXTS, **SOME, "description": "The program and its arguments, one string each."},
    working_directory=TEXT,
    timeout_ms=INTEGER,
    env={"type": "object", "additionalProperties": TEXT},
    user=TEXT,
)
COMMANDS = object_of(
    ("commands",),
    commands={**TEXTS, **SOME, "description": "Command lines, run one after the other."},
    timeout_ms=INTEGER,
    max_output_length=INTEGER,
)
OPERATION = object_of(
    ("type", "path"),
    type={"type": "string", "enum": ["create_file", "update_file", "delete_file"]},
    path={"type": "string", "description": "The file's path, relative to the workspace."},
    diff={"type": "string", "description": "The changes in the V4A diff format; not for delete_file."},
)
POINT = object_of(("x", "y"), x=INTEGER, y=INTEGER)
ACTION = object_of(
    ("type",),
    type={
        "type": "string",
        "enum": [
            "click", "double_click", "drag", "keypress", "move", "screenshot", "scroll", "type", "wait",
        ],
    },
    x=INTEGER,
    y=INTEGER,
    button={"type": "string", "enum": ["left", "right", "wheel", "back", "forward"]},
    scroll_x=INTEGER,
    scroll_y=INTEGER,
    path={"type": "array", "items": POINT, "description": "The points that a drag goes through."},
    keys=TEXTS,
    text=TEXT,
)  # fmt: skip
ACTIONS = object_of(("actions",), actions={"type": "array", "items": ACTION, **SOME})
