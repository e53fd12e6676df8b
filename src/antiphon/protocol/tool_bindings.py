"""The tools of a chat model: every tool as a function, with the kind of item that its calls
become.
"""

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
"""Which calls are searched for in an answer's text: none, those in formats with marks, or bare JSON
and Python too.

`wrapped`: the whole answer is JSON, with its text under `ANSWER`, unless it is a call.
"""

ANSWER = "answer"

Key = tuple[Kind, str, str]
"""A tool as the client knows it: its kind, its namespace and its name, empty if it has none."""


class Offer(Struct, frozen=True):
    """One tool that the model can call."""

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
    """Whether this server runs it."""
    was_found: bool = False
    """Whether a search here found it, alone: a call then has its name as its namespace (recorded of
    OpenAI).
    """
    environment: dict[str, Any] | None = None
    """Where a shell runs."""
    container_id: str = ""
    """The container of a call that an earlier attempt began; if it is empty, the response
    determines it.
    """
    tool: Tool | None = None
    """The tool as in the request, for one that this server runs, except tool search."""
    needs_approval: bool = False
    """Whether each call needs the client's approval."""
    is_changed: bool = False
    """Whether it differs from what the client knew, or approved."""
    approval_request_id: str | None = None
    """The request by which the client approved a call."""
    check: Literal["", "json", "schema"] = ""
    """How a function's arguments are checked: that they are a JSON object, or that they match
    `parameters` too.
    """
    misfit: Callable[[str], str] | None = None
    """What is wrong with a custom tool's input, empty if it matches; None if any text is valid."""

    @property
    def displayed_namespace(self) -> str:
        """Return the namespace that the client sees of a call, empty for none."""
        return self.namespace or (self.name if self.was_found and self.kind == "function" else "")

    @property
    def key(self) -> Key:
        """Return the tool as the client knows it."""
        return (self.kind, self.namespace, self.name)
