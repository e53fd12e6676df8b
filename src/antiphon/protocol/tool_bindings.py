"""What a chat model is offered: every tool as a function, which knows what its calls are to the client."""

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct, field

from antiphon.protocol.tools import Tool

Kind = Literal[
    "function",
    "custom",
    "tool_search",
    "local_shell",
    "shell",
    "apply_patch",
    "computer",
    "computer_use_preview",
    "mcp",
    "web_search",
    "file_search",
    "code_interpreter",
    "image_generation",
]
TextCalls = Literal["", "marked", "any", "wrapped"]
"""Which calls are looked for in an answer's text: none, those in formats with marks, or bare JSON and Python too.

`wrapped`: the whole answer is JSON, of which the text under `ANSWER` is what it says, where it is no call.
"""

ANSWER = "answer"

Key = tuple[Kind, str, str]
"""A tool as the client knows it: its kind, its namespace and its name, empty where it has none."""


class Offer(Struct, frozen=True):
    """One tool that the model may call."""

    chat_name: str
    """Its name as the backend knows it."""
    kind: Kind = "function"
    name: str = ""
    namespace: str = ""
    description: str | None = None
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    strict: bool = False
    is_async: bool = False
    is_hosted: bool = False
    """This server runs it."""
    was_found: bool = False
    """A search here brought it, alone: a call then has its name as its namespace (recorded of OpenAI)."""
    environment: dict[str, Any] | None = None
    """Where a shell runs."""
    container_id: str = ""
    """The container of a call that an earlier attempt began; empty where the response says it."""
    tool: Tool | None = None
    """The tool as the request gives it, of one that this server runs beside searching for tools."""
    needs_approval: bool = False
    """Whether the client is asked before each call."""
    is_changed: bool = False
    """It is not any more what the client knew, or approved."""
    approval_request_id: str | None = None
    """The request by which the client approved a call."""
    check: Literal["", "json", "schema"] = ""
    """What is checked of a function's arguments: that they are a JSON object, or that they fit `parameters` too."""
    misfit: Callable[[str], str] | None = None
    """What is wrong with a custom tool's input, empty where it fits; None where any text will do."""

    @property
    def told_namespace(self) -> str:
        """Return the namespace that the client sees of a call, empty for none."""
        return self.namespace or (self.name if self.was_found and self.kind == "function" else "")

    @property
    def key(self) -> Key:
        """Return the tool as the client knows it."""
        return (self.kind, self.namespace, self.name)
