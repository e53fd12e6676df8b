"""The blocks of an answer of the Messages API, as deltas of Chat Completions.

| Block | Delta |
|---|---|
| `text`, its citations | `content`, and `annotations` once the text is complete |
| `thinking`, `redacted_thinking` | `thinking_blocks` with the signature, and `reasoning_content` |
| `tool_use` | `tool_calls` |
| tools that the backend runs, their results, others | none: a Chat answer has no place for them |

`index` of a thinking block is its place among the blocks that are passed on, with texts that follow
each other as one: there it goes back to the backend.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.json import encode

Delta = dict[str, Any]
Block = Mapping[str, Any]

PARAGRAPH = "\n\n"
"""Separates texts between which the backend ran a tool."""

THINKING = "thinking"
REDACTED = "redacted_thinking"

_PASSED_ON = frozenset({"text", THINKING, REDACTED, "tool_use"})


class BlockReader:
    """Reads the blocks of one answer: each is opened, grown by deltas, and closed.

    Citations count the characters of a text since the reasoning or the call before it, which end a
    message in a stream; if the answer `is_whole`, those of all its texts.
    """

    def __init__(self, *, is_whole: bool = False) -> None:
        self._is_whole = is_whole
        self._kinds: dict[int, str] = {}
        """The types of the blocks that are open, by their index in the answer."""
        self._last = ""
        """The type of the newest block that was passed on, or of one that was not."""
        self._place = -1
        self._length = 0
        """Characters of the text that citations count."""
        self._is_separate = False
        """The next text is separated from the one before."""
        self._citations: list[dict[str, Any]] = []
        self._cited_from = 0
        self._calls = 0
        self._is_called = False
        """The open call has arguments."""

    def open(self, index: int, block: Block) -> Iterator[Delta]:
        """Open a block; some have content already."""
        kind = str(block.get("type"))
        self._kinds[index] = kind
        if kind not in _PASSED_ON:
            self._is_separate = self._length > 0
            self._last = kind
            return
        if kind != "text" or self._last != "text":
            self._place += 1
        self._last = kind
        if kind == "text":
            self._cited_from = self._length
            yield from self._text(block.get("text"))
            self._citations += _citations(block.get("citations"))
        else:
            if not self._is_whole:
                self._length = 0
            self._is_separate = False
            yield from self._opened(kind, block)

    def grow(self, index: int, delta: Block) -> Iterator[Delta]:
        """Add to a block; deltas of other kinds of blocks are ignored."""
        kind = self._kinds.get(index)
        match kind, delta.get("type"):
            case "text", "text_delta":
                yield from self._text(delta.get("text"))
            case "text", "citations_delta":
                self._citations += _citations([delta.get("citation")])
            case "thinking", "thinking_delta":
                yield from self._thought(delta.get("thinking"))
            case "thinking", "signature_delta":
                yield from self._signed(delta.get("signature"))
            case "tool_use", "input_json_delta":
                yield from self._arguments(delta.get("partial_json"))

    def close(self, index: int) -> Iterator[Delta]:
        """Close a block."""
        kind = self._kinds.pop(index, "")
        if kind == "tool_use" and not self._is_called:
            yield from self._arguments("{}")
        elif kind == "text" and self._citations:
            found = self._citations
            self._citations = []
            span = {"start_index": self._cited_from, "end_index": self._length}
            yield {"annotations": [_annotation({**one, **span}) for one in found]}

    def whole(self, index: int, block: Block) -> Iterator[Delta]:
        """Read a complete block."""
        yield from self.open(index, block)
        yield from self.close(index)

    def _opened(self, kind: str, block: Block) -> Iterator[Delta]:
        if kind == THINKING:
            yield from self._thought(block.get(THINKING))
            yield from self._signed(block.get("signature"))
        elif kind == REDACTED:
            yield {
                "thinking_blocks": [{"type": kind, "data": block.get("data"), "index": self._place}]
            }
        else:
            self._is_called = False
            self._calls += 1
            function = {"name": block.get("name"), "arguments": ""}
            yield self._call({"id": block.get("id"), "type": "function", "function": function})
            if arguments := block.get("input"):
                yield from self._arguments(encode(arguments).decode())

    def _text(self, text: Any) -> Iterator[Delta]:
        if not text or not isinstance(text, str):
            return
        if self._is_separate:
            self._is_separate = False
            text = PARAGRAPH + text
            self._cited_from += len(PARAGRAPH)
        self._length += len(text)
        yield {"content": text}

    def _thought(self, text: Any) -> Iterator[Delta]:
        if text and isinstance(text, str):
            block = {"type": THINKING, THINKING: text, "index": self._place}
            yield {"reasoning_content": text, "thinking_blocks": [block]}

    def _signed(self, signature: Any) -> Iterator[Delta]:
        if signature and isinstance(signature, str):
            block = {"type": THINKING, THINKING: "", "signature": signature, "index": self._place}
            yield {"thinking_blocks": [block]}

    def _arguments(self, text: Any) -> Iterator[Delta]:
        if text and isinstance(text, str):
            self._is_called = True
            yield self._call({"function": {"arguments": text}})

    def _call(self, call: Delta) -> Delta:
        return {"tool_calls": [{"index": self._calls - 1, **call}]}


def merged(deltas: Iterator[Delta]) -> Delta:
    """Return the message that these deltas of complete blocks add up to."""
    message: Delta = {"role": "assistant", "content": None}
    calls: list[Delta] = []
    for delta in deltas:
        for name, value in delta.items():
            if name == "tool_calls":
                _add_call(calls, value[0])
            elif name == "thinking_blocks":
                _add_thought(message.setdefault(name, []), value[0])
            else:
                message[name] = value if message.get(name) is None else message[name] + value
    return {**message, "tool_calls": calls} if calls else message


def _add_call(calls: list[Delta], call: Delta) -> None:
    own = {name: value for name, value in call.items() if name != "index"}
    if "id" in own:
        calls.append(own)
    else:
        calls[-1]["function"]["arguments"] += own["function"]["arguments"]


def _add_thought(blocks: list[Delta], block: Delta) -> None:
    last = blocks[-1] if blocks else {}
    if block["type"] == THINKING and last.get("index") == block["index"]:
        last |= {**block, THINKING: last[THINKING] + block[THINKING]}
    else:
        blocks.append(block)


def _citations(values: Any) -> list[dict[str, Any]]:
    """Return the citations of pages; those of documents that the client sent have no form in the
    other APIs.
    """
    found = values if isinstance(values, list) else []
    return [one for one in found if isinstance(one, dict) and isinstance(one.get("url"), str)]


def _annotation(citation: Mapping[str, Any]) -> dict[str, Any]:
    fields = ("url", "title", "start_index", "end_index")
    page = {name: citation.get(name) or ("" if name == "title" else 0) for name in fields}
    return {"type": "url_citation", "url_citation": page}
