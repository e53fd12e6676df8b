"""The class for each type of item while a backend sends it.

| Item | What streams |
|---|---|
| `message`, `reasoning` | its parts |
| `function_call`, `mcp_call` | the arguments |
| `custom_tool_call`, `code_interpreter_call` | the input, the code |
| `apply_patch_call` | the diff |
| `shell_call`, `shell_call_output` | each command; the output of each, all at once |
| others | nothing |
"""

from collections.abc import Callable

from antiphon.protocol.items.content import Item
from antiphon.translation.from_responses.content import PassedMessage, PassedReasoning
from antiphon.translation.from_responses.item import PassedItem, Value
from antiphon.translation.from_responses.texts import (
    TEXTS,
    PassedShell,
    PassedShellOutput,
    PassedText,
)
from antiphon.translation.from_responses.values import read_item
from antiphon.translation.writer import ResponseWriter

PASSED: dict[str, Callable[[ResponseWriter, Value, Item], PassedItem]] = {
    "message": PassedMessage,
    "reasoning": PassedReasoning,
    "shell_call": PassedShell,
    "shell_call_output": PassedShellOutput,
    **dict.fromkeys(TEXTS, PassedText),
}
"""The class for each type of item; `PassedItem` for the others."""


def pass_on(writer: ResponseWriter, value: Value) -> PassedItem | None:
    """Open the item that the backend opened; None if the API does not have it."""
    item = read_item(value | _OPENING.get(str(value.get("type")), {}))
    return None if item is None else PASSED.get(str(value["type"]), PassedItem)(writer, value, item)


_OPENING: dict[str, Value] = {
    "message": {"content": [], "role": "assistant"},
    "reasoning": {"summary": [], "content": []},
}
"""The fields that are read when these open: their content is read as it arrives."""
