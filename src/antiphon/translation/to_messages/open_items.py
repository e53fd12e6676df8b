"""Items while they stream: what their events add to the blocks of the message.

An item is open from its first event until it is done. What its events did not send, the finished
item adds, so that a stream has the blocks that `Blocks.of` returns.
"""

from typing import Any

from antiphon.protocol import events
from antiphon.protocol.items.hosted import CodeInterpreterCall, McpCall, WebSearchCall
from antiphon.protocol.items.messages import FunctionCall, Message, Reasoning
from antiphon.translation.from_messages.hosted import as_json
from antiphon.translation.json_guard import JsonGuard
from antiphon.translation.to_messages import hosted_blocks as hosted
from antiphon.translation.to_messages.blocks import Blocks, call_start, citations_of, text_block
from antiphon.translation.to_messages.frames import MOST_PADDING, BlockFrames
from antiphon.translation.tool_items import read_object

BETWEEN_PARTS = "\n\n"
"""Separates the parts of reasoning, which is one block."""


def padding_of(event: Any) -> int:
    """Return how many characters of padding an event has."""
    obfuscation = getattr(event, "obfuscation", None)
    return len(obfuscation) & MOST_PADDING if isinstance(obfuscation, str) else 0


class OpenItem:
    """An item without events of its own: its blocks are written when it is done."""

    def __init__(self, blocks: Blocks, frames: BlockFrames) -> None:
        self.blocks = blocks
        self.frames = frames

    def begin(self, item: Any) -> None:
        """Write what is known when the item is added."""

    def feed(self, event: Any) -> None:
        """Write what an event adds."""

    def close(self, item: Any) -> None:
        """Write the rest of the finished item."""
        for block in self.blocks.of(item):
            self.frames.whole(block)


class OpenMessage(OpenItem):
    """Text and refusals: a block for each part that has text."""

    def __init__(self, blocks: Blocks, frames: BlockFrames) -> None:
        super().__init__(blocks, frames)
        self._done = 0
        """How many parts are closed."""
        self.head = b""
        """The beginning of the next delta, while a text is open."""

    def feed(self, event: Any) -> None:
        """See `OpenItem.feed`."""
        if isinstance(event, events.ResponseTextDeltaEvent | events.ResponseRefusalDeltaEvent):
            if event.delta:
                self._open()
                self.frames.delta("text_delta", event.delta, padding_of(event))
        elif isinstance(event, events.ResponseContentPartDoneEvent):
            self._close_part(event.part)

    def _open(self) -> None:
        if not self.frames.is_open:
            self.frames.start({"type": "text", "text": ""})
            self.head = self.frames.head("text_delta")

    def _close_part(self, part: Any) -> None:
        self._done += 1
        if self.frames.is_open:
            self.frames.citations(
                citations_of(getattr(part, "text", ""), getattr(part, "annotations", None) or ())
            )
            self.frames.stop()
        elif block := text_block(part):
            self.frames.whole(block)
        self.head = b""

    def close(self, item: Any) -> None:
        """See `OpenItem.close`."""
        content = (
            item.content if isinstance(item, Message) and not isinstance(item.content, str) else []
        )
        for part in content[self._done :]:
            self._close_part(part)


class OpenReasoning(OpenItem):
    """Thinking. Its signature is known when the item is done, so the block stays open until
    then.
    """

    def __init__(self, blocks: Blocks, frames: BlockFrames) -> None:
        super().__init__(blocks, frames)
        self._is_summary = False
        self._part = -1
        self._display = blocks.view.display

    def feed(self, event: Any) -> None:
        """See `OpenItem.feed`. If an item has raw text and a summary, the one that comes first is
        shown.
        """
        if isinstance(event, events.ResponseReasoningTextDeltaEvent):
            self._add(event, event.content_index, is_summary=False)
        elif isinstance(event, events.ResponseReasoningSummaryTextDeltaEvent):
            self._add(event, event.summary_index, is_summary=True)

    def _add(self, event: Any, part: int, *, is_summary: bool) -> None:
        is_first = not self.frames.is_open
        if (
            self._display == "hidden"
            or not event.delta
            or (not is_first and is_summary is not self._is_summary)
        ):
            return
        if is_first:
            self.frames.start({"type": "thinking", "thinking": "", "signature": ""})
        if self._display == "summarized":
            text = event.delta if is_first or part == self._part else BETWEEN_PARTS + event.delta
            self.frames.delta("thinking_delta", text, padding_of(event))
        self._part = part
        self._is_summary = is_summary

    def close(self, item: Any) -> None:
        """See `OpenItem.close`."""
        block = self.blocks.thinking(item) if isinstance(item, Reasoning) else None
        if not self.frames.is_open:
            if block is not None:
                self.frames.whole(block)
            return
        if block is not None:
            self.frames.delta("signature_delta", block["signature"])
        self.frames.stop()


class OpenCall(OpenItem):
    """A call with arguments that stream: at each delta they are the beginning of valid JSON, or
    clients fail.
    """

    def __init__(self, blocks: Blocks, frames: BlockFrames) -> None:
        super().__init__(blocks, frames)
        self._guard = JsonGuard()
        self._sent: list[str] = []

    def begin(self, item: Any) -> None:
        """See `OpenItem.begin`."""
        if isinstance(item, McpCall):
            self.frames.start({**hosted.mcp_use(item), "input": {}})
        elif isinstance(item, FunctionCall):
            self.frames.start(call_start(item))

    def feed(self, event: Any) -> None:
        """See `OpenItem.feed`."""
        if isinstance(
            event,
            events.ResponseFunctionCallArgumentsDeltaEvent
            | events.ResponseMcpCallArgumentsDeltaEvent,
        ):
            self._send(self._guard.feed(event.delta), padding_of(event))

    def _send(self, text: str, padding: int = 0) -> None:
        if text:
            self._sent.append(text)
            self.frames.delta("input_json_delta", text, padding)

    def close(self, item: Any) -> None:
        """See `OpenItem.close`. Arguments that are not an object end where they stopped being
        valid.
        """
        if not self.frames.is_open:
            self.begin(item)
        arguments = item.arguments
        sent = "".join(self._sent)
        if read_object(arguments or "{}") and arguments.startswith(sent):
            self._send(arguments[len(sent) :])
        self.frames.stop()
        if isinstance(item, McpCall):
            self.frames.whole(hosted.mcp_result(item))


class OpenCode(OpenItem):
    """Python code, which streams as the string of a JSON object."""

    def __init__(self, blocks: Blocks, frames: BlockFrames) -> None:
        super().__init__(blocks, frames)
        self._sent: list[str] = []

    def begin(self, item: Any) -> None:
        """See `OpenItem.begin`."""
        self.frames.start({**hosted.code_use(item), "input": {}})

    def feed(self, event: Any) -> None:
        """See `OpenItem.feed`."""
        if isinstance(event, events.ResponseCodeInterpreterCallCodeDeltaEvent):
            self._send(event.delta, padding_of(event))

    def _send(self, code: str, padding: int = 0) -> None:
        if code:
            opening = "" if self._sent else '{"code":"'
            self._sent.append(code)
            self.frames.delta("input_json_delta", opening + as_json(code)[1:-1], padding)

    def close(self, item: Any) -> None:
        """See `OpenItem.close`."""
        if not self.frames.is_open:
            self.begin(item)
        sent = "".join(self._sent)
        code = item.code if isinstance(item.code, str) else ""
        if code.startswith(sent):
            self._send(code[len(sent) :])
        self.frames.delta("input_json_delta", '"}' if self._sent else '{"code":""}')
        self.frames.stop()
        self.frames.whole(hosted.code_result(item))


class OpenWebCall(OpenItem):
    """A web search, or a page that is opened: the block of the call opens before what it asks for
    is known.
    """

    def begin(self, item: Any) -> None:
        """See `OpenItem.begin`."""
        self.frames.start({**hosted.web_use(item), "input": {}})

    def close(self, item: Any) -> None:
        """See `OpenItem.close`."""
        if not self.frames.is_open:
            super().close(item)
            return
        use, result = self.blocks.of(item)
        self.frames.delta("input_json_delta", as_json(use["input"]))
        self.frames.stop()
        self.frames.whole(result)


OPEN: dict[type, type[OpenItem]] = {
    Message: OpenMessage,
    Reasoning: OpenReasoning,
    FunctionCall: OpenCall,
    McpCall: OpenCall,
    CodeInterpreterCall: OpenCode,
    WebSearchCall: OpenWebCall,
}
"""The class of an open item by its type; others are `OpenItem`."""
