"""Calls of a backend that consist of texts, and the output of shells."""

from typing import Any, NamedTuple

from msgspec.structs import replace

from antiphon.protocol import events
from antiphon.protocol.items.content import Item
from antiphon.translation.from_responses.item import PassedItem, Value
from antiphon.translation.from_responses.values import FINAL, read_item, text


class Streamed(NamedTuple):
    """A text of an item that arrives in deltas."""

    stem: str
    path: tuple[str, ...]
    delta: type[Any]
    done: type[Any]

    @property
    def field(self) -> str:
        """The field of the text in the item, and in the event that ends it."""
        return self.path[-1]


TEXTS = {
    "function_call": Streamed(
        "response.function_call_arguments",
        ("arguments",),
        events.ResponseFunctionCallArgumentsDeltaEvent,
        events.ResponseFunctionCallArgumentsDoneEvent,
    ),
    "custom_tool_call": Streamed(
        "response.custom_tool_call_input",
        ("input",),
        events.ResponseCustomToolCallInputDeltaEvent,
        events.ResponseCustomToolCallInputDoneEvent,
    ),
    "mcp_call": Streamed(
        "response.mcp_call_arguments",
        ("arguments",),
        events.ResponseMcpCallArgumentsDeltaEvent,
        events.ResponseMcpCallArgumentsDoneEvent,
    ),
    "code_interpreter_call": Streamed(
        "response.code_interpreter_call_code",
        ("code",),
        events.ResponseCodeInterpreterCallCodeDeltaEvent,
        events.ResponseCodeInterpreterCallCodeDoneEvent,
    ),
    "apply_patch_call": Streamed(
        "response.apply_patch_call_operation_diff",
        ("operation", "diff"),
        events.ResponseApplyPatchCallOperationDiffDeltaEvent,
        events.ResponseApplyPatchCallOperationDiffDoneEvent,
    ),
}
"""The items that consist of one text."""


class PassedText(PassedItem):
    """An item with one text that streams.

    Steps that arrive before the text has ended wait for that.
    """

    def _opened(self, item: Item) -> Item:
        self._text = TEXTS[self.kind]
        self._pieces: list[str] = []
        self._waiting: list[str] = []
        self._is_whole = False
        emptied = read_item(self._with(self.value, ""))
        return replace(item, **{self._text.path[0]: getattr(emptied, self._text.path[0])})

    def _with(self, value: Value, content: str) -> Value:
        """Return the item with this text; a patch without a diff stays without."""
        first, *rest = self._text.path
        inner = value.get(first)
        if not rest:
            return value | {first: content}
        return (
            value | {first: inner | {rest[0]: content}}
            if isinstance(inner, dict) and rest[0] in inner
            else value
        )

    def _intended(self) -> str:
        found: Any = self.value
        for key in self._text.path:
            found = found.get(key) if isinstance(found, dict) else None
        return text(found)

    def _grow(self, stem: str, word: str, event: Value) -> None:
        if stem != self._text.stem or self._is_whole:
            return
        if word == "delta":
            self._add(text(event.get("delta")))
        elif word == "done":
            self._complete(text(event.get(self._text.field)))
            self._end_text()

    def _step(self, word: str, event: Value) -> None:
        if word == "in_progress" or self._is_whole:
            super()._step(word, event)
        elif word not in FINAL:
            self._waiting.append(word)

    def _add(self, delta: str) -> None:
        if delta:
            self._reach("in_progress")
            self._pieces.append(delta)
            self._padded(self._text.delta(**self._where(), delta=delta), delta)

    def _complete(self, intended: str) -> None:
        emitted = "".join(self._pieces)
        if intended.startswith(emitted):
            self._add(intended[len(emitted) :])

    def _settle(self) -> None:
        if not self._is_whole:
            self._complete(self._intended())
            if self.kind == "function_call" and not "".join(self._pieces).strip():
                self._add("{}")  # clients parse arguments as JSON

    def _finish(self) -> None:
        self._end_text()

    def _end_text(self) -> None:
        if self._is_whole:
            return
        self._is_whole = True
        content = "".join(self._pieces)
        if content or self.kind in ("function_call", "custom_tool_call"):
            self.writer.emit(self._text.done(**self._where(), **{self._text.field: content}))
        for step in self._waiting:
            self._reach(step)

    def _closed(self) -> Item:
        return self._read(**self._with(self.value, "".join(self._pieces)))


class PassedShell(PassedItem):
    """A shell call: each command streams."""

    def _opened(self, item: Item) -> Item:
        self._commands: dict[int, list[str]] = {}
        self._over: set[int] = set()
        return replace(item, action=replace(item.action, commands=[]))  # type: ignore[attr-defined]

    def _grow(self, stem: str, word: str, event: Value) -> None:
        index = event.get("command_index")
        if (
            stem != "response.shell_call_command"
            or not isinstance(index, int)
            or index in self._over
        ):
            return
        if index not in range(len(self._commands) + 1):
            return
        self._command(index)
        if word == "delta":
            self._add(index, text(event.get("delta")))
        elif word == "done":
            self._complete(index, text(event.get("command")))
            self._end_command(index)

    def _command(self, index: int) -> list[str]:
        if index not in self._commands:
            self._commands[index] = []
            self.writer.emit(
                events.ResponseShellCallCommandAddedEvent(
                    output_index=self.output_index, command_index=index, command=""
                )
            )
        return self._commands[index]

    def _add(self, index: int, delta: str) -> None:
        if delta:
            self._command(index).append(delta)
            where = self.output_index
            self._padded(
                events.ResponseShellCallCommandDeltaEvent(
                    output_index=where, command_index=index, delta=delta
                ),
                delta,
            )

    def _complete(self, index: int, intended: str) -> None:
        emitted = "".join(self._command(index))
        if intended.startswith(emitted):
            self._add(index, intended[len(emitted) :])

    def _settle(self) -> None:
        action = self.value.get("action")
        commands = action.get("commands") if isinstance(action, dict) else None
        for index, intended in enumerate(commands if isinstance(commands, list) else []):
            if index not in self._over:
                self._complete(index, text(intended))

    def _finish(self) -> None:
        for index in self._commands:
            self._end_command(index)

    def _end_command(self, index: int) -> None:
        if index not in self._over:
            self._over.add(index)
            where = self.output_index
            command = "".join(self._commands[index])
            self.writer.emit(
                events.ResponseShellCallCommandDoneEvent(
                    output_index=where, command_index=index, command=command
                )
            )

    def _closed(self) -> Item:
        commands = ["".join(pieces) for _, pieces in sorted(self._commands.items())]
        return self._read(action={**self.value["action"], "commands": commands})


class PassedShellOutput(PassedItem):
    """The output of commands that the backend ran: emitted when it is complete."""

    def _opened(self, item: Item) -> Item:
        return replace(item, status="in_progress", output=[])

    def _settle(self) -> None:
        item = self._read()
        for index, output in enumerate(item.output):  # type: ignore[attr-defined]
            where = {**self._where(), "command_index": index}
            printed = {name: getattr(output, name) for name in ("stdout", "stderr")}
            self.writer.emit(
                events.ResponseShellCallOutputContentDeltaEvent(**where, delta=printed)
            )
            self.writer.emit(
                events.ResponseShellCallOutputContentDoneEvent(**where, output=[output])
            )

    def _closed(self) -> Item:
        return self._read() if self.is_ended else self._read(output=[])
