"""Calls of built-in tools that the client runs, while their arguments arrive (specification section
16).

| Kind | What streams |
|---|---|
| `shell` | each command |
| `apply_patch` | the diff |
| others | nothing: the item opens when it is complete |
"""

from collections.abc import Callable
from typing import Any

from msgspec import UNSET, UnsetType

from antiphon.protocol import events
from antiphon.protocol.items.calls import (
    ApplyPatchCall,
    ComputerCall,
    CreateFile,
    DeleteFile,
    LocalShellCall,
    Operation,
    ShellAction,
    ShellCall,
    ToolSearchCall,
    UpdateFile,
)
from antiphon.protocol.items.content import Item, Status
from antiphon.protocol.tool_bindings import Kind
from antiphon.translation.json_strings import JsonStrings, Path
from antiphon.translation.tool_items import StreamingCall, StreamingCustomCall, bare, read_object


class StreamingShellCall(StreamingCall):
    """A shell call: commands one after the other."""

    def _begin(self) -> None:
        self._prepare()
        self._open(self._shell("in_progress", ShellAction(commands=[])))

    def _prepare(self) -> None:
        self._strings = JsonStrings()
        self._commands: list[list[str]] = []
        self._path: Path | None = None

    def _grow(self, delta: str) -> None:
        for path, piece, is_end in self._strings.feed(delta):
            if path[:1] not in COMMAND_KEYS or len(path) > 2:
                continue
            if path != self._path:
                self._path = path
                self._commands.append([])
                self._emit(events.ResponseShellCallCommandAddedEvent, command="")
            if piece:
                self._commands[-1].append(piece)
                index = len(self._commands) - 1
                event = events.ResponseShellCallCommandDeltaEvent(
                    output_index=self._output_index, command_index=index, delta=piece
                )
                self._emit_padded(event, piece)
            if is_end:
                self._emit(
                    events.ResponseShellCallCommandDoneEvent, command="".join(self._commands[-1])
                )
                self._path = None

    def close(self, status: Status) -> StreamingCall | None:
        """See `StreamingCall.close`."""
        self._close(self._shell(status, self._finished()))
        return None

    def _finished(self) -> ShellAction:
        """End the commands; return all of them."""
        if self._path is not None:
            self._emit(
                events.ResponseShellCallCommandDoneEvent, command="".join(self._commands[-1])
            )
            self._path = None
        value = read_object(self.arguments)
        if value is None and not self._commands and (command := bare(self.arguments).strip()):
            self._commands.append([command])
            self._emit(events.ResponseShellCallCommandAddedEvent, command="")
            self._emit(events.ResponseShellCallCommandDeltaEvent, delta=command)
            self._emit(events.ResponseShellCallCommandDoneEvent, command=command)
        value = value or {}
        return ShellAction(
            commands=["".join(pieces) for pieces in self._commands],
            timeout_ms=_whole(value.get("timeout_ms")),
            max_output_length=_whole(value.get("max_output_length")),
        )

    def _emit(self, kind: Callable[..., events.Event], **fields: Any) -> None:
        self.writer.emit(kind(**self._where(), **fields))

    def _where(self) -> dict[str, int]:
        return {"output_index": self._output_index, "command_index": len(self._commands) - 1}

    def _shell(self, status: Status, action: ShellAction) -> ShellCall:
        environment: dict[str, Any] | UnsetType = self.offer.environment or UNSET
        return ShellCall(
            id=self.id, status=status, call_id=self.call_id, action=action, environment=environment
        )


COMMAND_KEYS = {("commands",), ("command",), ()}
"""Where models write commands: as the schema defines it, or in other common forms."""


class StreamingPatchCall(StreamingCall):
    """A patch: the item opens once its operation and its file are known, then the diff grows."""

    def _begin(self) -> None:
        self._strings = JsonStrings()
        self._fields: dict[str, list[str]] = {}
        self._known: set[str] = set()
        self._reported = 0
        """Pieces of the diff."""

    def _grow(self, delta: str) -> None:
        for path, piece, is_end in self._strings.feed(delta):
            name = str(path[-1]) if path else ""
            self._fields.setdefault(name, []).append(piece)
            if is_end:
                self._known.add(name)
        if self._output_index < 0 and {"type", "path"} <= self._known:
            self._open_for(self._fields)
        if self._output_index >= 0:
            self._emit_rest()

    def _open_for(self, fields: dict[str, list[str]]) -> None:
        operation = _operation({**_joined(fields), "diff": ""})
        if operation is not None:
            self._open(self._patch("in_progress", operation))

    def _emit_rest(self) -> None:
        """Emit the rest of the diff."""
        pieces = self._fields.get("diff", [])
        new = "".join(pieces[self._reported :])
        if new and "".join(self._fields["type"]) != "delete_file":
            self._reported = len(pieces)
            event = events.ResponseApplyPatchCallOperationDiffDeltaEvent(
                output_index=self._output_index, item_id=self.id, delta=new
            )
            self._emit_padded(event, new)

    def close(self, status: Status) -> StreamingCall | None:
        """See `StreamingCall.close`."""
        operation = _operation(_joined(self._fields))
        if operation is None:
            _close_unread(self, status)
            return None
        if self._output_index < 0:
            self._open_for(self._fields)
            self._emit_rest()
        if not isinstance(operation, DeleteFile):
            event = events.ResponseApplyPatchCallOperationDiffDoneEvent(
                output_index=self._output_index, item_id=self.id, diff=operation.diff
            )
            self.writer.emit(event)
        # The API has no incomplete patch.
        self._close(self._patch(status if status == "completed" else "in_progress", operation))
        return None

    def _patch(self, status: Status, operation: Operation) -> ApplyPatchCall:
        return ApplyPatchCall(id=self.id, status=status, call_id=self.call_id, operation=operation)


_OPERATIONS: dict[str, Callable[[dict[str, str]], Operation]] = {
    "create_file": lambda fields: CreateFile(path=fields["path"], diff=fields.get("diff", "")),
    "update_file": lambda fields: UpdateFile(path=fields["path"], diff=fields.get("diff", "")),
    "delete_file": lambda fields: DeleteFile(path=fields["path"]),
}


def _operation(fields: dict[str, str]) -> Operation | None:
    make = _OPERATIONS.get(fields.get("type", ""))
    return make(fields) if make and fields.get("path") else None


def _joined(fields: dict[str, list[str]]) -> dict[str, str]:
    return {name: "".join(pieces) for name, pieces in fields.items()}


class StreamingWholeCall(StreamingCall):
    """A call that is emitted when it is complete, because clients cannot use parts of it."""

    def _begin(self) -> None:
        self._is_read = False

    def _grow(self, delta: str) -> None:
        """Wait."""

    def close(self, status: Status) -> StreamingCall | None:
        """See `StreamingCall.close`."""
        value = read_object(self.arguments or "{}")
        if value is None and self.offer.is_hosted and status == "completed":
            value = {"query": self.arguments}  # only this server could use it
        make = _WHOLE[self.offer.kind]
        if value is None or (item := make(self, value, status)) is None:
            _close_unread(self, status)
            return None
        self._open(make(self, {}, "in_progress") or item)
        self._close(item)
        return None


def _close_unread(call: StreamingCall, status: Status) -> None:
    """Emit a call with unusable arguments as what the model wrote: a function call of that name."""
    plain = StreamingCall(call.writer, call.call_id, call.offer)
    if call.arguments:
        plain.add(call.arguments)
    plain.close(status)


def _search(call: StreamingWholeCall, value: dict[str, Any], status: Status) -> Item:
    is_hosted = call.offer.is_hosted
    return ToolSearchCall(
        id=call.id,
        status=status,
        call_id=None if is_hosted else call.call_id,
        execution="server" if is_hosted else "client",
        arguments=value,
    )


def _local_shell(call: StreamingWholeCall, value: dict[str, Any], status: Status) -> Item | None:
    command = value.get("command") or value.get("cmd") or []
    words = ["bash", "-lc", command] if isinstance(command, str) else command
    if not isinstance(words, list) or (not words and status == "completed"):
        return None
    env = value.get("env")
    action: dict[str, Any] = {
        "type": "exec",
        "command": [str(word) for word in words],
        "env": {str(name): str(each) for name, each in env.items()}
        if isinstance(env, dict)
        else {},
    }
    alongside = {
        "timeout_ms": _whole(value.get("timeout_ms")),
        "user": _text(value.get("user")),
        "working_directory": _text(value.get("working_directory")),
    }
    action |= {name: each for name, each in alongside.items() if each is not None}
    return LocalShellCall(id=call.id, status=status, call_id=call.call_id, action=action)


def _computer(call: StreamingWholeCall, value: dict[str, Any], status: Status) -> Item | None:
    actions = value.get("actions") or ([value] if value.get("type") else [])
    if not isinstance(actions, list) or not all(
        isinstance(each, dict) and each.get("type") for each in actions
    ):
        return None
    if not actions and status == "completed":
        return None
    return ComputerCall(
        id=call.id, status=status, call_id=call.call_id, actions=actions, pending_safety_checks=[]
    )


def _preview(call: StreamingWholeCall, value: dict[str, Any], status: Status) -> Item | None:
    action = value.get("action") if isinstance(value.get("action"), dict) else value
    if not isinstance(action, dict) or (not action.get("type") and status == "completed"):
        return None
    item = ComputerCall(id=call.id, status=status, call_id=call.call_id, pending_safety_checks=[])
    if action.get("type"):
        item.action = action
    return item


_WHOLE: dict[Kind, Callable[[StreamingWholeCall, dict[str, Any], Status], Item | None]] = {
    "tool_search": _search,
    "local_shell": _local_shell,
    "computer": _computer,
    "computer_use_preview": _preview,
}

STREAMING: dict[Kind, type[StreamingCall]] = {
    "function": StreamingCall,
    "custom": StreamingCustomCall,
    "shell": StreamingShellCall,
    "apply_patch": StreamingPatchCall,
    **dict.fromkeys(_WHOLE, StreamingWholeCall),
}
"""The class of a call, by the kind of its tool."""


def _whole(value: Any) -> int | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value < 2**53 else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
