"""Anthropic's own client tools: the client runs them, and Claude's models know their input without
a schema.

Other models need one, so each becomes a function of the same name with a description and a schema
of ours. Sources: the commands and their fields in Anthropic's documentation of the bash, text
editor and memory tools.
"""

from typing import Any

from antiphon.protocol.tools import FunctionTool

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}


def _object(required: list[str], **properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _text(description: str) -> Schema:
    return {**_TEXT, "description": description}


def _command(*commands: str) -> Schema:
    return {**_TEXT, "enum": [*commands], "description": "What to do."}


_RANGE: Schema = {
    "type": "array",
    "items": {"type": "integer"},
    "description": "For `view`: the first and the last line, from 1; -1 is the end of the file.",
}
_LINE: Schema = {
    "type": "integer",
    "description": "For `insert`: the line after which, 0 for the beginning.",
}

BASH = FunctionTool(
    name="bash",
    description=(
        "Runs a command in a bash session on the user's machine and returns its output. "
        "The session keeps its state between calls. Set `restart` to start a new session."
    ),
    parameters=_object(
        [],
        command=_text("The command to run. Required unless `restart` is set."),
        restart={"type": "boolean", "description": "Restarts the session."},
    ),
)

_EDITOR_FIELDS: dict[str, Schema] = {
    "path": _text("The absolute path of a file, or of a folder for `view`."),
    "file_text": _text("For `create`: the content of the file."),
    "old_str": _text("For `str_replace`: the text to replace. It must occur exactly once."),
    "new_str": _text(
        "For `str_replace`: the text that replaces it. For `insert`: the text to insert."
    ),
    "insert_line": _LINE,
    "insert_text": _text("For `insert`: the text to insert."),
    "view_range": _RANGE,
}
_EDITOR = (
    "Views, creates and edits files on the user's machine: `view` shows a file with line "
    "numbers or lists a folder, `create` writes a new file, `str_replace` replaces a text, "
    "`insert` adds a text after a line."
)


def _editor(name: str, *more: str) -> FunctionTool:
    commands = ("view", "create", "str_replace", "insert", *more)
    undo = " `undo_edit` reverts the last edit of a file." if more else ""
    schema = _object(["command", "path"], command=_command(*commands), **_EDITOR_FIELDS)
    return FunctionTool(name=name, description=_EDITOR + undo, parameters=schema)


MEMORY = FunctionTool(
    name="memory",
    description=(
        "Reads and writes files in the folder /memories, which is kept between conversations. "
        "`view` lists a folder or shows a file, `create` writes a file, `str_replace` replaces "
        "a text, `insert` adds a text at a line, `delete` removes and `rename` moves a file "
        "or folder. View /memories first: it can hold what you need for the task."
    ),
    parameters=_object(
        ["command"],
        command=_command("view", "create", "str_replace", "insert", "delete", "rename"),
        path=_text("The path, which begins with /memories."),
        view_range=_RANGE,
        file_text=_EDITOR_FIELDS["file_text"],
        old_str=_EDITOR_FIELDS["old_str"],
        new_str=_text("For `str_replace`: the text that replaces it."),
        insert_line=_LINE,
        insert_text=_EDITOR_FIELDS["insert_text"],
        old_path=_text("For `rename`: the present path."),
        new_path=_text("For `rename`: the new path."),
    ),
)

_NAMELESS_UNDO = "20250429"
"""The first date of an editor without `undo_edit`, and with another name."""


def client_tool(family: str, date: str) -> FunctionTool | None:
    """Return the function for a tool of this family and date (empty for the newest); None for
    another family.
    """
    if family == "text_editor":
        is_old = bool(date) and date < _NAMELESS_UNDO
        return (
            _editor("str_replace_editor", "undo_edit")
            if is_old
            else _editor("str_replace_based_edit_tool")
        )
    return {"bash": BASH, "memory": MEMORY}.get(family)
