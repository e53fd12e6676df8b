"""Calls of tools that the client runs, other than functions, and their outputs (specification
sections 5.1, 5.2).
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType, field

from antiphon.protocol.items.content import (
    Caller,
    CallId,
    CreatedBy,
    InputParts,
    Item,
    Part,
    Status,
    Text,
)
from antiphon.protocol.objects import ApiObject
from antiphon.protocol.tools import AnyTool, Count

Execution = Literal["server", "client"]


class CustomToolCall(Item, kw_only=True, dict=True, tag="custom_tool_call"):
    """The model calls a custom tool; `input` is plain text for the tool, not JSON."""

    status: Status | UnsetType | None = UNSET
    call_id: CallId
    name: Annotated[str, Meta(min_length=1, max_length=128)]
    input: Text
    namespace: str | UnsetType | None = UNSET
    caller: Caller = UNSET
    async_: bool | UnsetType | None = field(default=UNSET, name="async")


class CustomToolCallOutput(Item, kw_only=True, tag="custom_tool_call_output"):
    """The client's output of a `CustomToolCall`. Codex adds the tool's `name`."""

    status: Status | UnsetType | None = UNSET
    call_id: CallId
    output: Text | InputParts
    name: str | UnsetType | None = UNSET
    caller: Caller = UNSET
    created_by: CreatedBy = UNSET


class ToolSearchCall(Item, kw_only=True, tag="tool_search_call"):
    """The model searches for tools. A search by the server has no `call_id`."""

    status: Status | UnsetType | None = UNSET
    call_id: CallId | UnsetType | None = UNSET
    execution: Execution | UnsetType | None = UNSET
    arguments: Any
    created_by: CreatedBy = UNSET


class ToolSearchOutput(Item, kw_only=True, tag="tool_search_output"):
    """The tools that were found; from here on the model can use them."""

    status: Status | UnsetType | None = UNSET
    call_id: CallId | UnsetType | None = UNSET
    execution: Execution | UnsetType | None = UNSET
    tools: list[AnyTool]
    created_by: CreatedBy = UNSET


class AdditionalTools(Item, kw_only=True, tag="additional_tools"):
    """Tools inside the input; from here on the model can use them."""

    role: Literal[
        "developer", "unknown", "user", "assistant", "system", "critic", "discriminator", "tool"
    ]
    tools: list[AnyTool]


class LocalShellCall(Item, kw_only=True, tag="local_shell_call"):
    """The model calls one command: `action` is `{type: "exec", command, env, timeout_ms?, …}`."""

    status: Status | UnsetType | None = UNSET
    call_id: CallId
    action: dict[str, Any]


class LocalShellCallOutput(Item, kw_only=True, tag="local_shell_call_output"):
    """The output of the command.

    `id` is the call's `call_id`, unless there is a separate `call_id`.
    """

    status: Status | UnsetType | None = UNSET
    call_id: CallId | UnsetType | None = UNSET
    output: Text


class ShellAction(ApiObject, kw_only=True, forbid_unknown_fields=True):
    """Commands to run, one after the other; times are in milliseconds, lengths in characters."""

    commands: list[str]
    timeout_ms: Count | None = None
    max_output_length: Count | None = None


class ShellCall(Item, kw_only=True, tag="shell_call"):
    """The model calls commands."""

    status: Status | UnsetType | None = UNSET
    call_id: CallId
    action: ShellAction
    environment: dict[str, Any] | UnsetType | None = UNSET
    caller: Caller = UNSET
    created_by: CreatedBy = UNSET


class ShellOutput(ApiObject, kw_only=True, forbid_unknown_fields=True):
    """The output of one command, and how it ended: `{type: "exit", exit_code}` or `{type:
    "timeout"}`.
    """

    stdout: str
    stderr: str
    outcome: dict[str, Any]
    created_by: CreatedBy = UNSET


class ShellCallOutput(Item, kw_only=True, tag="shell_call_output"):
    """The outputs of the commands, in order."""

    status: Status | UnsetType | None = UNSET
    call_id: CallId
    output: list[ShellOutput]
    max_output_length: Count | UnsetType | None = UNSET
    caller: Caller = UNSET
    created_by: CreatedBy = UNSET
    encrypted_content: str | UnsetType | None = UNSET
    """What the model received from commands that ran in a container of this server, sealed; see
    `hosted.Said`.
    """


class CreateFile(
    ApiObject, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="create_file"
):
    """Create a file."""

    path: str
    diff: str


class UpdateFile(
    ApiObject, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="update_file"
):
    """Change a file."""

    path: str
    diff: str


class DeleteFile(
    ApiObject, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="delete_file"
):
    """Delete a file."""

    path: str


Operation = CreateFile | UpdateFile | DeleteFile


class ApplyPatchCall(Item, kw_only=True, tag="apply_patch_call"):
    """The model changes a file."""

    status: Status | UnsetType | None = UNSET
    call_id: CallId
    operation: Operation
    caller: Caller = UNSET
    created_by: CreatedBy = UNSET


class ApplyPatchCallOutput(Item, kw_only=True, tag="apply_patch_call_output"):
    """Whether the file was changed."""

    status: Literal["completed", "failed"]
    call_id: CallId
    output: Text | UnsetType | None = UNSET
    caller: Caller = UNSET
    created_by: CreatedBy = UNSET


class SafetyCheck(ApiObject, kw_only=True, forbid_unknown_fields=True):
    """A warning that a person should check before the action is done."""

    id: str
    code: str | None = None
    message: str | None = None


class ComputerCall(Item, kw_only=True, tag="computer_call"):
    """The model acts on a screen: a list of `actions`, or one `action` for the preview tool."""

    status: Status | UnsetType | None = UNSET
    call_id: CallId
    action: dict[str, Any] | UnsetType | None = UNSET
    actions: list[dict[str, Any]] | UnsetType | None = UNSET
    pending_safety_checks: list[SafetyCheck] | UnsetType | None = UNSET


class ComputerScreenshot(Part, kw_only=True, tag="computer_screenshot"):
    """The screenshot: a URL or a `data:` URL."""

    image_url: str | UnsetType | None = UNSET
    file_id: str | UnsetType | None = UNSET
    detail: Literal["low", "high", "auto", "original"] | UnsetType | None = UNSET


class ComputerCallOutput(Item, kw_only=True, tag="computer_call_output"):
    """The screen after a `ComputerCall`."""

    status: Literal["in_progress", "completed", "incomplete", "failed"] | UnsetType | None = UNSET
    call_id: CallId
    output: ComputerScreenshot
    acknowledged_safety_checks: list[SafetyCheck] | UnsetType | None = UNSET
    created_by: CreatedBy = UNSET
