"""Calls that run in a container: Python code, and the commands of a hosted shell (specification
section 16).

Weak models write code as a string, as plain text, in a Markdown fence or as a list of lines, and
not only as the `code` of an object. The code streams as soon as it is certain which text it is;
otherwise it comes in one delta.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from antiphon.protocol import events
from antiphon.protocol.items.calls import ShellAction, ShellCallOutput, ShellOutput
from antiphon.protocol.items.content import Item, Status
from antiphon.protocol.items.hosted import CodeInterpreterCall
from antiphon.protocol.json_members import decode_value
from antiphon.protocol.tool_bindings import Kind
from antiphon.translation.built_in_items import StreamingShellCall
from antiphon.translation.hosted_call import HostedCall, Result
from antiphon.translation.json_strings import JsonStrings, Path
from antiphon.translation.tool_items import read_object

PLAIN_PLACES: frozenset[Path] = frozenset({("code",), ()})
"""Where a string is certainly the code: `code` of the object that the schema defines, or a bare
string.
"""

# Possessive (`*+`), so that it is read once, even with many blanks.
_FENCED = re.compile(
    r"\s*+```[ \t]*+[A-Za-z0-9_+-]*+[ \t]*+\r?\n(?P<code>.*?)(?:\r?\n[ \t]*```\s*|```\s*)?\Z",
    re.DOTALL,
)


class StreamingCode(HostedCall):
    """A code interpreter call: the code streams as plain text."""

    item_type = "code_interpreter_call"
    unreadable = 'There is no code in the arguments. Put the Python code into "code".'

    def _begin(self) -> None:
        self._strings = JsonStrings()
        self._place: Path | None = None
        self._waiting = ""
        """The beginning of the code, while it can still turn out not to be code."""
        self._is_wrapped = False
        """The code is in a Markdown fence, or in JSON once more: it is sent when it is complete."""
        self._sent: list[str] = []
        super()._begin()

    def _grow(self, delta: str) -> None:
        new = []
        for path, piece, _ in self._strings.feed(delta):
            if self._place is None and path in PLAIN_PLACES:
                self._place = path
            if path == self._place:
                new.append(piece)
        self._add("".join(new))

    def _add(self, piece: str) -> None:
        if self._is_wrapped:
            return
        if not self._sent:
            self._waiting += piece
            begin = self._waiting.lstrip()
            self._is_wrapped = begin.startswith("`") or (
                self._place == () and begin.startswith("{")
            )
            if not begin or self._is_wrapped:
                return
            piece = self._waiting
            self._waiting = ""
        self._send(piece)

    def _send(self, piece: str) -> None:
        if piece:
            self._sent.append(piece)
            event = events.ResponseCodeInterpreterCallCodeDeltaEvent(
                output_index=self._output_index, item_id=self.id, delta=piece
            )
            self._emit_padded(event, piece)

    @property
    def code(self) -> str:
        """The code as it was sent."""
        return "".join(self._sent)

    def use(self) -> Mapping[str, Any] | None:
        """See `HostedCall.use`."""
        return {"code": self.code} if self.code.strip() else None

    def _emit_arguments(self) -> None:
        if not self._sent:
            self._send(code_of(self.arguments))
        self._end_code()

    def _cut(self) -> None:
        self._send("" if self._sent else self._waiting)
        self._end_code()

    def _end_code(self) -> None:
        self.writer.emit(
            events.ResponseCodeInterpreterCallCodeDoneEvent(
                output_index=self._output_index, item_id=self.id, code=self.code
            )
        )

    def run(self) -> None:
        """See `HostedCall.run`."""
        self._step("interpreting")

    def _saved(self, result: Result) -> dict[str, Any]:
        stored = super()._saved(result)
        if read_object(self.arguments) is None:  # chat templates parse arguments
            stored["call"]["arguments"] = msgspec.json.encode({"code": self.code}).decode()
        return stored

    def apart(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """See `HostedCall.apart`. Figures are large, and later turns read them from here only if
        the model sees images.
        """
        return {} if self.writer.view.code_outputs else {"outputs": fields.get("outputs", [])}

    def _item(self, status: Any, fields: Mapping[str, Any]) -> CodeInterpreterCall:
        outputs = list(fields.get("outputs", ())) if self.writer.view.code_outputs else None
        return CodeInterpreterCall(
            id=self.id,
            status=status,
            code=self.code,
            container_id=self.container_id,
            outputs=outputs,
        )


class StreamingContainerShell(HostedCall, StreamingShellCall):
    """A hosted shell call. It stays open until its commands have run; its output is a separate item
    after it.
    """

    item_type = "shell_call"
    unreadable = 'There is no command in the arguments. Put the command lines into "commands".'

    def _begin(self) -> None:
        self._prepare()
        self._action = ShellAction(commands=[])
        HostedCall._begin(self)

    def _grow(self, delta: str) -> None:
        StreamingShellCall._grow(self, delta)

    def fill(self, arguments: str) -> None:
        """See `HostedCall.fill`."""
        super().fill(arguments)
        self._grow(arguments)

    def use(self) -> Mapping[str, Any] | None:
        """See `HostedCall.use`."""
        action = {
            name: value
            for name, value in msgspec.to_builtins(self._action).items()
            if value is not None
        }
        return action if self._action.commands else None

    def _emit_arguments(self) -> None:
        self._action = self._finished()

    def _cut(self) -> None:
        self._action = self._finished()

    def drop(self) -> None:
        """See `HostedCall.drop`.

        Its output says so as well: a call without an output would wait for the client.
        """
        super().drop()
        self._show("incomplete", [])

    def _end(self, item: Any, result: Result) -> Item:
        self._close(item)
        output = [msgspec.convert(each, ShellOutput) for each in result.fields.get("output", ())]
        self._show(item.status, output, self._sealed(result))
        ended: Item = item
        return ended

    def _show(self, status: Any, output: list[ShellOutput], sealed: str = "") -> None:
        """Emit what the commands printed."""
        writer = self.writer
        most = self._action.max_output_length
        item = ShellCallOutput(
            id=writer.new_id("sho"),
            status=status,
            call_id=self.call_id,
            output=[],
            max_output_length=most,
        )
        index = writer.open_item(item)
        for number, each in enumerate(output):
            where: dict[str, Any] = {
                "output_index": index,
                "item_id": str(item.id),
                "command_index": number,
            }
            printed = {name: text for name in ("stdout", "stderr") if (text := getattr(each, name))}
            if printed:
                writer.emit(events.ResponseShellCallOutputContentDeltaEvent(**where, delta=printed))
            writer.emit(events.ResponseShellCallOutputContentDoneEvent(**where, output=[each]))
        if sealed:
            writer.sealed[str(item.id)] = sealed
        displayed = sealed if sealed and writer.view.encrypted else None
        item = replace(
            item, output=output, **({"encrypted_content": displayed} if displayed else {})
        )
        writer.close_item(index, item)
        self.outputs = [(index, item)]

    def _item(self, status: Any, fields: Mapping[str, Any]) -> Item:
        # The API has no failed shell call.
        known: Status = (
            status if status != "failed" else "completed" if fields.get("output") else "incomplete"
        )
        call = self._shell(known, self._action)
        environment = {"type": "container_reference", "container_id": self.container_id}
        return replace(call, environment=environment)


CONTAINER_CALLS: dict[Kind, type[HostedCall]] = {
    "code_interpreter": StreamingCode,
    "shell": StreamingContainerShell,
}
"""The class of a call that runs in a container, by the kind of its tool."""


def code_of(arguments: str) -> str:
    """Return the code in a call's arguments, in whatever form the model wrote it."""
    try:
        value = decode_value(arguments)
    except (ValueError, RecursionError):
        value = arguments
    if isinstance(value, str):
        value = read_object(value) or value
    try:
        return without_fence(_text_of(value))
    except RecursionError:  # a decoder nests deeper than Python allows
        return ""


def _text_of(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(line for line in value if isinstance(line, str))
    if not isinstance(value, dict):
        return ""
    if "code" in value:
        return _text_of(value["code"])
    texts = [text for each in value.values() if (text := _text_of(each))]
    return max(texts, key=len, default="")


def without_fence(code: str) -> str:
    """Return code without a Markdown fence around it."""
    fenced = _FENCED.fullmatch(code)
    return fenced["code"] if fenced else code
