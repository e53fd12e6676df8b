"""Tools and tool choice (specification section 6): the types that this server serves."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

ToolName = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[a-zA-Z0-9_-]+$(?!\n)")]
Mode = Literal["none", "auto", "required"]


class FunctionTool(Struct, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="function"):
    """A function of the client's. `parameters` is a JSON Schema of its arguments."""

    name: ToolName
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    output_schema: dict[str, Any] | UnsetType | None = UNSET
    allowed_callers: list[Literal["direct"]] | UnsetType | None = UNSET
    async_: bool | UnsetType | None = field(default=UNSET, name="async")
    defer_loading: bool | UnsetType | None = UNSET


class FunctionChoice(Struct, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="function"):
    """The model must call this function."""

    name: str


class AllowedTools(Struct, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="allowed_tools"):
    """The model may (`auto`) or must (`required`) call one of these, and no other of `tools`."""

    mode: Literal["auto", "required"]
    tools: Annotated[list[FunctionChoice], Meta(min_length=1)]


ToolChoice = Mode | FunctionChoice | AllowedTools

KNOWN_TOOLS: dict[str, tuple[str, ...]] = {
    "function": ("name",),
    "file_search": ("vector_store_ids",),
    "computer": (),
    "computer_use_preview": ("display_height", "display_width", "environment"),
    "web_search": (),
    "web_search_2025_08_26": (),
    "web_search_preview": (),
    "web_search_preview_2025_03_11": (),
    "mcp": ("server_label",),
    "code_interpreter": ("container",),
    "programmatic_tool_calling": (),
    "image_generation": (),
    "local_shell": (),
    "shell": (),
    "custom": ("name",),
    "namespace": ("name", "description", "tools"),
    "tool_search": (),
    "apply_patch": (),
}
"""Every tool type of the API with the parameters that it requires."""

KNOWN_CHOICES: dict[str, tuple[str, ...]] = dict.fromkeys((*KNOWN_TOOLS, "computer_use"), ())
"""Every type of tool choice of the API, and of a tool named in `allowed_tools`."""
