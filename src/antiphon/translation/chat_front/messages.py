"""The messages of a chat completion as items."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from antiphon.protocol.items.content import MAX_CALL_ID, SEALED_CALL
from antiphon.translation.chat_front.view import invalid, unsupported

FORMAT = "antiphon-v1"
"""The format of reasoning of this server in `reasoning_details`."""

Item = dict[str, Any]
Restore = Callable[[str], Sequence[Item]]
"""Returns the reasoning before the call with this id; nothing if it is unknown."""


def call_id_of(value: Any) -> str:
    """Return a call's id in a form that a response accepts."""
    text = str(value)
    if len(text) <= MAX_CALL_ID or text.startswith(SEALED_CALL):
        return text
    return "call_" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]


class ChatMessageReader:
    """Reads messages in order. `items` are the result, and `places` the message of each."""

    def __init__(self, restore: Restore) -> None:
        self.items: list[Item] = []
        self.places: list[int] = []
        self._restore = restore
        self._custom: set[str] = set()
        """The ids of calls of custom tools."""
        self._legacy = ""
        """The id of the last `function_call`."""
        self._number = 0
        self._legacy_calls = 0

    def read(self, messages: Sequence[dict[str, Any]]) -> None:
        """Read all messages. Raises `ClientError` (400) for one that cannot be an item."""
        for self._number, message in enumerate(messages):
            read = _READERS.get(message["role"])
            if read is None:
                roles = ", ".join(f"'{role}'" for role in _READERS)
                raise invalid(f"{self._path}.role", f"Invalid role. Supported roles are: {roles}.")
            read(self, message)

    @property
    def _path(self) -> str:
        return f"messages[{self._number}]"

    def _add(self, kind: str, **fields: Any) -> None:
        self.items.append({"type": kind, **fields})
        self.places.append(self._number)

    def _developer(self, message: dict[str, Any]) -> None:
        content = self._input(message.get("content"))
        self._add("message", role="developer", content=content)

    def _user(self, message: dict[str, Any]) -> None:
        self._add("message", role="user", content=self._input(message.get("content")))

    def _assistant(self, message: dict[str, Any]) -> None:
        if message.get("audio"):
            raise unsupported(f"{self._path}.audio", "Audio of an earlier answer")
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
            raise invalid(f"{self._path}.tool_calls", "'tool_calls' is not an array of objects.")
        self._reasoning(message, calls)
        parts = self._output(message.get("content"))
        if message.get("refusal"):
            parts.append({"type": "refusal", "refusal": message["refusal"]})
        if parts:
            self._add("message", role="assistant", content=parts)
        for place, call in enumerate(calls):
            self._call(call, f"{self._path}.tool_calls[{place}]")
        if isinstance(legacy := message.get("function_call"), dict):
            self._legacy_calls += 1
            self._legacy = f"call_function_{self._legacy_calls}"
            self._function(self._legacy, legacy, f"{self._path}.function_call")

    def _reasoning(self, message: dict[str, Any], calls: Sequence[dict[str, Any]]) -> None:
        """Add the reasoning that the client returns, or that is restored by the id of a call."""
        details = message.get("reasoning_details")
        own = [
            one
            for one in (details if isinstance(details, list) else ())
            if isinstance(one, dict) and one.get("format") == FORMAT and one.get("data")
        ]
        for one in own:
            self._add("reasoning", summary=[], encrypted_content=str(one["data"]))
        if own:
            return
        found = (self._restore(str(call.get("id"))) for call in calls)
        for item in next(filter(None, found), ()):
            self.items.append(item)
            self.places.append(self._number)

    def _call(self, call: dict[str, Any], path: str) -> None:
        call_id = call_id_of(call.get("id"))
        custom = call.get("custom")
        if call.get("type") == "custom" and isinstance(custom, dict):
            self._custom.add(call_id)
            name, text = custom.get("name"), custom.get("input")
            self._add("custom_tool_call", call_id=call_id, name=name, input=text)
        elif isinstance(function := call.get("function"), dict):
            self._function(call_id, function, path)
        else:
            raise invalid(path, f"'{path}' has neither 'function' nor 'custom'.")

    def _function(self, call_id: str, function: dict[str, Any], path: str) -> None:
        name = function.get("name")
        arguments = function.get("arguments")
        if not isinstance(name, str) or not isinstance(arguments, str):
            raise invalid(path, f"'{path}' needs 'name' and 'arguments', both strings.")
        self._add("function_call", call_id=call_id, name=name, arguments=arguments)

    def _tool(self, message: dict[str, Any]) -> None:
        call_id = call_id_of(message.get("tool_call_id") or "")
        if not call_id:
            path = f"{self._path}.tool_call_id"
            raise invalid(path, f"Missing required parameter: '{path}'.")
        self._result(call_id, message)

    def _result(self, call_id: str, message: dict[str, Any]) -> None:
        content = message.get("content")
        output: Any = "" if content is None else self._input(content)
        if isinstance(output, list) and all(part["type"] == "input_text" for part in output):
            output = "\n".join(part["text"] for part in output)
        kind = "custom_tool_call_output" if call_id in self._custom else "function_call_output"
        self._add(kind, call_id=call_id, output=output)

    def _legacy_result(self, message: dict[str, Any]) -> None:
        if not self._legacy:
            raise invalid(self._path, "A message with the role 'function' needs a call before it.")
        self._result(self._legacy, message)

    def _input(self, content: Any) -> Any:
        if isinstance(content, str):
            return content
        path = f"{self._path}.content"
        if not isinstance(content, list):
            raise invalid(path, f"'{path}' is neither a string nor an array of parts.")
        return [self._part(part, f"{path}[{place}]") for place, part in enumerate(content)]

    def _part(self, part: dict[str, Any], path: str) -> Item:
        kind = str(part.get("type"))
        if kind in {"text", "refusal"}:
            return {"type": "input_text", "text": part.get("text") or part.get("refusal") or ""}
        if kind == "image_url":
            image = part.get("image_url")
            image = image if isinstance(image, dict) else {"url": image}
            detail = {"detail": image["detail"]} if image.get("detail") else {}
            return {"type": "input_image", "image_url": image.get("url"), **detail}
        if kind == "file" and isinstance(file := part.get("file"), dict):
            names = ("file_id", "file_data", "filename")
            return {"type": "input_file", **{name: file[name] for name in names if name in file}}
        if kind == "input_audio":
            raise unsupported(path, "Audio in messages")
        raise invalid(f"{path}.type", f"'{path}' is no part of text, image_url or file.")

    def _output(self, content: Any) -> list[Item]:
        if content is None or content == "":
            return []
        parts = self._input(content)
        texts = [parts] if isinstance(parts, str) else [part.get("text") for part in parts]
        return [{"type": "output_text", "text": text, "annotations": []} for text in texts]


_READERS: dict[str, Callable[[ChatMessageReader, dict[str, Any]], None]] = {
    "system": ChatMessageReader._developer,
    "developer": ChatMessageReader._developer,
    "user": ChatMessageReader._user,
    "assistant": ChatMessageReader._assistant,
    "tool": ChatMessageReader._tool,
    "function": ChatMessageReader._legacy_result,
}
