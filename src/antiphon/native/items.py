"""A backend's items while they come, as items of ours: opened empty, grown by deltas, closed once.

Each is fed the backend's events about it, in whatever order and number, then the item as the backend says it is at
last. What that says and no delta did is told before the end; so a backend may leave out any of its events.

| Item | What streams |
|---|---|
| `message`, `reasoning` | its parts |
| `function_call`, `mcp_call` | the arguments |
| `custom_tool_call`, `code_interpreter_call` | the input, the code |
| `apply_patch_call` | the diff |
| `shell_call`, `shell_call_output` | each command; what each said, all at once |
| others | nothing |

Beside that, a tool that the backend runs goes through its steps (`protocol.events.STEPS`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from antiphon.native.parts import Part, Place, SummaryPart
from antiphon.native.reading import FINAL, dicts, has_status, optional, read_item, text
from antiphon.protocol import events
from antiphon.protocol.content import Item
from antiphon.protocol.items import ID_PREFIXES, Message, Reasoning
from antiphon.stream.items import padding
from antiphon.stream.writer import ResponseWriter

Value = dict[str, Any]
PHASES = ("commentary", "final_answer")

CUT = {"apply_patch_call": "in_progress", "image_generation_call": "failed"}
"""Statuses of what an answer broke off in, where the API has no `incomplete` for it."""


class PassedItem:
    """Any item, and all of it where nothing streams. `end` it once the backend has, then `close` it."""

    def __init__(self, writer: ResponseWriter, given: Value, item: Item) -> None:
        self.writer = writer
        self.kind = str(given["type"])
        self.key = text(given.get("id"))
        """Its id at the backend."""
        self.id = writer.new_id(ID_PREFIXES[type(item)])
        self.is_ended = False
        self.is_closed = False
        self.is_settled = False
        """The backend's final response was compared with it."""
        self.value = self._given = given
        self._item = item
        self._reached = -1
        self._images = 0
        item = replace(item, id=self.id)
        if has_status(item) and not self.kind.endswith("_output"):
            item = replace(item, status="in_progress")
        self.output_index = writer.open_item(self._opened(item))

    def feed(self, stem: str, word: str, event: Value) -> None:
        """Take an event of the backend's about this item: of `response.refusal.delta` the word is `delta`."""
        if self.is_ended:
            return
        if stem == f"response.{self.kind}":
            self._step(word, event)
        else:
            self._grow(stem, word, event)

    def end(self, value: Value) -> None:
        """Take the item as the backend says it is at last."""
        if self.is_ended:
            return
        self.value = self.value | {
            key: given for key, given in value.items() if given is not None or key not in self.value
        }
        self.is_ended = True
        self._settle()
        self._finish()

    def close(self, status: str | None) -> None:
        """Close it: as the backend says it ended, or with the `status` of an item that the answer broke off in."""
        if self.is_closed:
            return
        self.is_closed = True
        if not self.is_ended:
            self._finish()
            self._lose()
        item = self._closed()
        if has_status(item):
            item = replace(item, status=self._final(status, item.status))  # type: ignore[attr-defined]
        self._end_steps(item)
        self.writer.close_item(self.output_index, item)

    # What each kind does in its own way.

    def _opened(self, item: Item) -> Item:
        return item

    def _grow(self, stem: str, word: str, event: Value) -> None:
        """Take a piece of what streams."""

    def _settle(self) -> None:
        """Tell what of `value` was not told yet."""

    def _finish(self) -> None:
        """Nothing more comes: end what streams."""

    def _closed(self) -> Item:
        return self._read()

    # What they share.

    def _lose(self) -> None:
        """The backend never said how it ended."""
        if self.kind == "mcp_list_tools":  # it has no status to say so
            self.value = self.value | {"error": "The backend's answer ended before it was finished."}

    def _read(self, **changes: Any) -> Item:
        """Return the item as it is now; where the backend spoiled it at last, as it was when it opened."""
        item = read_item(self.value | changes) or read_item(self._given | changes) or self._item
        return replace(item, id=self.id)

    def _final(self, cut: str | None, said: Any) -> Any:
        if cut is not None:
            return CUT.get(self.kind, cut)
        caller = self.value.get("caller")
        if isinstance(caller, dict) and caller.get("type") == "program" and said == "in_progress":
            return said
        return "failed" if said == "failed" else "completed"

    def _padded(self, event: Any, delta: str) -> None:
        if self.writer.view.obfuscation:
            event.obfuscation = padding(delta)
        self.writer.emit(event)

    def _where(self) -> Value:
        return {"output_index": self.output_index, "item_id": self.id}

    # The steps of a tool that the backend runs. How it ended is told at the end.

    def _step(self, word: str, event: Value) -> None:
        if word == "partial_image":
            self._show(event)
        elif word not in FINAL:
            self._reach(word)

    def _reach(self, word: str) -> None:
        steps = events.STEPS.get(self.kind, ())
        if word not in steps:
            return
        for place in range(self._reached + 1, steps.index(word) + 1):
            self._tell(steps[place])
            self._reached = place

    def _tell(self, step: str) -> None:
        self.writer.emit(events.STEP_EVENTS[self.kind, step](**self._where()))

    def _end_steps(self, item: Item) -> None:
        if self.kind not in events.STEPS:
            return
        error = getattr(item, "error", None)
        end = getattr(item, "status", "failed" if error not in (None, UNSET) else "completed")
        if end == "completed":
            self._reach("completed")
        elif (self.kind, end) in events.STEP_EVENTS:
            self._reach("in_progress")
            self._tell(end)

    def _show(self, event: Value) -> None:
        image = event.get("partial_image_b64")
        if not isinstance(image, str):
            return
        self._reach("generating")
        more = {name: optional(event.get(name)) for name in ("background", "output_format", "quality", "size")}
        index, self._images = self._images, self._images + 1
        self.writer.emit(
            events.PartialImage(**self._where(), partial_image_index=index, partial_image_b64=image, **more)
        )


class PassedMessage(PassedItem):
    """An assistant's message."""

    def _opened(self, item: Item) -> Item:
        self._parts: dict[Any, Part] = {}
        return Message(id=self.id, status="in_progress", role="assistant", content=[], phase=self._phase())

    def _phase(self) -> Any:
        phase = self.value.get("phase")
        return phase if phase in PHASES else UNSET

    def _grow(self, stem: str, word: str, event: Value) -> None:
        kind, index = stem.removeprefix("response."), event.get("content_index")
        if kind == "output_text.annotation":
            self._part(index, "output_text").annotate(event.get("annotation"))
        elif kind in ("output_text", "refusal"):
            part = self._part(index, kind)
            if word == "delta":
                part.add(text(event.get("delta")), event.get("logprobs"))
            elif word == "done":
                part.settle(event | {"type": kind, "annotations": None})

    def _part(self, index: Any, kind: str) -> Part:
        part = self._parts.get(index) if isinstance(index, int) else None
        if part is None or part.kind != kind:
            place = Place(self.output_index, self.id, len(self._parts))
            part = Part(self.writer, place, kind)
            key = index if isinstance(index, int) and index not in self._parts else ("more", place.index)
            self._parts[key] = part
            part.open()
        return part

    def _settle(self) -> None:
        whole = self.value.get("content")
        if isinstance(whole, str):  # an easy message, where the API writes parts
            whole = [{"type": "output_text", "text": whole}]
        said = [part for part in dicts(whole) if part.get("type") in ("output_text", "refusal")]
        known = list(self._parts.values())
        for place, part in enumerate(said):
            mine = known[place] if place < len(known) else self._part(("new", place), part["type"])
            mine.settle(part)

    def _finish(self) -> None:
        for part in self._parts.values():
            part.close()

    def _closed(self) -> Item:
        content: list[Any] = [part.whole() for part in self._parts.values()]
        return Message(id=self.id, status="completed", role="assistant", content=content, phase=self._phase())


class PassedReasoning(PassedItem):
    """What the model thinks: a summary in parts, raw text, or nothing that can be read."""

    def _opened(self, item: Item) -> Item:
        self._parts: dict[tuple[str, Any], Part] = {}
        """By the list in which the backend has them, and the index there."""
        return Reasoning(id=self.id, status="in_progress", summary=[], content=[])

    def _grow(self, stem: str, word: str, event: Value) -> None:
        where = {"response.reasoning_text": "content", "response.reasoning_summary_text": "summary"}.get(stem)
        if where is None:
            return
        part = self._part(where, event.get(f"{where}_index"))
        if word == "delta":
            part.add(text(event.get("delta")))
        elif word == "done":
            part.settle({"text": event.get("text")})

    def _part(self, where: str, index: Any) -> Part:
        key = (where, index if isinstance(index, int) else 0)
        if key not in self._parts:
            is_summary = where == "summary" or self.writer.view.summary
            place = Place(self.output_index, self.id, len(self._shown(is_summary)))
            kind = SummaryPart if is_summary else Part
            self._parts[key] = kind(self.writer, place, "summary_text" if where == "summary" else "reasoning_text")
            self._parts[key].open()
        return self._parts[key]

    def _shown(self, is_summary: bool) -> list[Part]:
        return [part for part in self._parts.values() if isinstance(part, SummaryPart) is is_summary]

    def _settle(self) -> None:
        for where in ("summary", "content"):
            known = [part for key, part in self._parts.items() if key[0] == where]
            for place, part in enumerate(dicts(self.value.get(where))):
                if "text" in part:
                    mine = known[place] if place < len(known) else self._part(where, place)
                    mine.settle({"text": part["text"]})

    def _finish(self) -> None:
        for part in self._parts.values():
            part.close()

    def _closed(self) -> Item:
        item = Reasoning(
            id=self.id,
            status="completed",
            summary=[part.whole() for part in self._shown(is_summary=True)],
            content=[part.whole() for part in self._shown(is_summary=False)],
        )
        self._seal(item)
        return item

    def _seal(self, item: Reasoning) -> None:
        """Keep what the backend wants back, and raw text that is not shown as such, for its next turn."""
        blob = text(self.value.get("encrypted_content"))
        raw = "\n\n".join(part.text for key, part in self._parts.items() if key[0] == "content")
        view = self.writer.view
        if not (blob or view.encrypted or view.summary):
            return
        state: Value = {"reasoning": {"think": raw} if raw else {}}
        if blob:
            state["native"] = {"id": self.key, "encrypted_content": blob}
        self.writer.sealed[self.id] = sealed = self.writer.seal(state)
        if view.encrypted:
            item.encrypted_content = sealed


class Streamed(NamedTuple):
    """A text of an item that comes in deltas."""

    stem: str
    path: tuple[str, ...]
    delta: type[Any]
    done: type[Any]

    @property
    def field(self) -> str:
        """Where the item, and the event that ends the text, have it."""
        return self.path[-1]


TEXTS = {
    "function_call": Streamed(
        "response.function_call_arguments", ("arguments",), events.ArgumentsDelta, events.ArgumentsDone
    ),
    "custom_tool_call": Streamed(
        "response.custom_tool_call_input", ("input",), events.CustomInputDelta, events.CustomInputDone
    ),
    "mcp_call": Streamed(
        "response.mcp_call_arguments", ("arguments",), events.McpArgumentsDelta, events.McpArgumentsDone
    ),
    "code_interpreter_call": Streamed(
        "response.code_interpreter_call_code", ("code",), events.CodeDelta, events.CodeDone
    ),
    "apply_patch_call": Streamed(
        "response.apply_patch_call_operation_diff", ("operation", "diff"), events.DiffDelta, events.DiffDone
    ),
}
"""The items that are made of one text."""


class PassedText(PassedItem):
    """An item with one text that streams. What comes of its steps before the text has ended waits for that."""

    def _opened(self, item: Item) -> Item:
        self._text = TEXTS[self.kind]
        self._pieces: list[str] = []
        self._waiting: list[str] = []
        self._is_whole = False
        emptied = read_item(self._with(self.value, ""))
        return replace(item, **{self._text.path[0]: getattr(emptied, self._text.path[0])})

    def _with(self, value: Value, said: str) -> Value:
        """Return the item with this text; a patch that has none stays without."""
        first, *rest = self._text.path
        inner = value.get(first)
        if not rest:
            return value | {first: said}
        return value | {first: inner | {rest[0]: said}} if isinstance(inner, dict) and rest[0] in inner else value

    def _meant(self) -> str:
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

    def _complete(self, meant: str) -> None:
        said = "".join(self._pieces)
        if meant.startswith(said):
            self._add(meant[len(said) :])

    def _settle(self) -> None:
        if not self._is_whole:
            self._complete(self._meant())
            if self.kind == "function_call" and not "".join(self._pieces).strip():
                self._add("{}")  # clients parse arguments as JSON

    def _finish(self) -> None:
        self._end_text()

    def _end_text(self) -> None:
        if self._is_whole:
            return
        self._is_whole = True
        said = "".join(self._pieces)
        if said or self.kind in ("function_call", "custom_tool_call"):
            self.writer.emit(self._text.done(**self._where(), **{self._text.field: said}))
        for step in self._waiting:
            self._reach(step)

    def _closed(self) -> Item:
        return self._read(**self._with(self.value, "".join(self._pieces)))


class PassedShell(PassedItem):
    """A shell's call: each command streams."""

    def _opened(self, item: Item) -> Item:
        self._commands: dict[int, list[str]] = {}
        self._over: set[int] = set()
        return replace(item, action=replace(item.action, commands=[]))  # type: ignore[attr-defined]

    def _grow(self, stem: str, word: str, event: Value) -> None:
        index = event.get("command_index")
        if stem != "response.shell_call_command" or not isinstance(index, int) or index in self._over:
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
            self.writer.emit(events.ShellCommandAdded(output_index=self.output_index, command_index=index, command=""))
        return self._commands[index]

    def _add(self, index: int, delta: str) -> None:
        if delta:
            self._command(index).append(delta)
            where = self.output_index
            self._padded(events.ShellCommandDelta(output_index=where, command_index=index, delta=delta), delta)

    def _complete(self, index: int, meant: str) -> None:
        said = "".join(self._command(index))
        if meant.startswith(said):
            self._add(index, meant[len(said) :])

    def _settle(self) -> None:
        action = self.value.get("action")
        commands = action.get("commands") if isinstance(action, dict) else None
        for index, meant in enumerate(commands if isinstance(commands, list) else []):
            if index not in self._over:
                self._complete(index, text(meant))

    def _finish(self) -> None:
        for index in self._commands:
            self._end_command(index)

    def _end_command(self, index: int) -> None:
        if index not in self._over:
            self._over.add(index)
            where, said = self.output_index, "".join(self._commands[index])
            self.writer.emit(events.ShellCommandDone(output_index=where, command_index=index, command=said))

    def _closed(self) -> Item:
        commands = ["".join(pieces) for _, pieces in sorted(self._commands.items())]
        return self._read(action={**self.value["action"], "commands": commands})


class PassedShellOutput(PassedItem):
    """What commands said that the backend ran: told when it is whole."""

    def _opened(self, item: Item) -> Item:
        return replace(item, status="in_progress", output=[])

    def _settle(self) -> None:
        item = self._read()
        for index, output in enumerate(item.output):  # type: ignore[attr-defined]
            where = {**self._where(), "command_index": index}
            said = {name: getattr(output, name) for name in ("stdout", "stderr")}
            self.writer.emit(events.ShellOutputDelta(**where, delta=said))
            self.writer.emit(events.ShellOutputDone(**where, output=[output]))

    def _closed(self) -> Item:
        return self._read() if self.is_ended else self._read(output=[])


PASSED: dict[str, Callable[[ResponseWriter, Value, Item], PassedItem]] = {
    "message": PassedMessage,
    "reasoning": PassedReasoning,
    "shell_call": PassedShell,
    "shell_call_output": PassedShellOutput,
    **dict.fromkeys(TEXTS, PassedText),
}
"""Who follows an item of each type; `PassedItem` the others."""


def pass_on(writer: ResponseWriter, value: Value) -> PassedItem | None:
    """Open the item that the backend opened; None where it is none of the API's."""
    item = read_item(value | _OPENING.get(str(value.get("type")), {}))
    return None if item is None else PASSED.get(str(value["type"]), PassedItem)(writer, value, item)


_OPENING: dict[str, Value] = {
    "message": {"content": [], "role": "assistant"},
    "reasoning": {"summary": [], "content": []},
}
"""What is read of these when they open: their content is read as it comes."""
