"""Decodes large requests: tools and the beginning of an input that a client has sent before are not
read again.
"""

from collections.abc import Sequence
from typing import Any

from antiphon.errors import ClientError
from antiphon.protocol.json_members import BLANKS, next_place
from antiphon.protocol.known_inputs import KINDS, LARGEST, InputMemory, KnownInput, SentItems
from antiphon.protocol.requests import MOST_ITEMS, CreateResponse
from antiphon.protocol.tool_lists import ToolMemory
from antiphon.protocol.validation.known_tools import TOOLS, ToolReader, named
from antiphon.protocol.validation.typed_items import TypedItems, read_items
from antiphon.protocol.validation.validate import Takes, decode_object, read_request

INPUT = "input"


def decode_large(
    body: bytes, takes: Takes | None, tools: ToolMemory, inputs: InputMemory, tenant: str
) -> tuple[CreateResponse, KnownInput | None]:
    """Return the same as `decode_request`, and raise the same; and the input, if it is to be kept
    for the next turn.

    For a thread: the event loop keeps the tools (`known_tools.keep`) and the input then.
    """
    tool_reader = ToolReader(tools, tenant)
    input_reader = InputReader(inputs.of(tenant))
    data = decode_object(body, readers={TOOLS: tool_reader.read, INPUT: input_reader.read})
    json = tool_reader.json_in(data)
    before = input_reader.before_in(data)
    items = input_reader.items_in(data)
    request = (
        read_request(data, takes)
        if before is None and items is None
        else _assembled(data, takes, before, items)
    )
    if request is None:  # an error, which names a place in the whole input
        data = decode_object(body, readers={TOOLS: tool_reader.read})
        json = tool_reader.json_in(data)
        before = None
        request = read_request(data, takes)
    known = input_reader.known(request, before)
    if known is not None:
        request.input = SentItems(known, items.texts if items is not None else {})
    return named(request, json), known


def _assembled(
    data: dict[str, Any], takes: Takes | None, before: KnownInput | None, items: TypedItems | None
) -> CreateResponse | None:
    """Return a request with an input that continues another, or has these items; None for one that
    must be read as a whole.
    """
    try:
        request = read_request(data, takes, None if items is None else [*items])
    except ClientError:
        return None
    if before is None:
        return request
    new: Any = request.input
    ids = before.ids
    if len(before.items) + len(new) > MOST_ITEMS or any(item.id in ids for item in new if item.id):
        return None
    request.input = [*before.items, *new]
    return request


class InputReader:
    """Reads the input of a large body, behind the items of a known one that it begins with."""

    def __init__(self, known: Sequence[KnownInput]) -> None:
        self._known = sorted(known, key=lambda one: len(one.json), reverse=True)
        self._before: KnownInput | None = None
        self._value: Any = None
        self._json = b""

    def read(self, body: bytes, begin: int) -> tuple[Any, int] | None:
        """See `json_members.Reader`."""
        self._before = next((one for one in self._known if continues(body, begin, one.json)), None)
        if self._before is not None:
            self._value, end = read_items(body, next_place(body, begin + len(self._before.json)))
        elif _begins_with_object(body, begin):
            self._value, end = read_items(body, begin)
        else:
            return None
        is_stored = end - begin <= LARGEST
        self._json = (
            body[begin : body.rindex(b"]", begin, end)].rstrip(BLANKS) if is_stored else b""
        )
        return self._value, end

    def before_in(self, data: dict[str, Any]) -> KnownInput | None:
        """Return the input that the decoded body continues, if it was read here: of two inputs the
        last one counts.
        """
        if data.get(INPUT) is self._value:
            return self._before
        self._json = b""
        return None

    def items_in(self, data: dict[str, Any]) -> TypedItems | None:
        """Take the input out of the decoded body, if its types have read it here."""
        return data.pop(INPUT) if type(data.get(INPUT)) is TypedItems else None

    def known(self, request: CreateResponse, before: KnownInput | None) -> KnownInput | None:
        """Return the input of the request if the next turn can send it again, and each item is
        checked alone.
        """
        request_input = request.input
        has_history = request.previous_response_id or request.conversation or request.prompt
        if (
            has_history
            or not self._json
            or not isinstance(request_input, list)
            or not KINDS.issuperset(map(type, request_input))
        ):
            return None
        return KnownInput(self._json, (*request_input,), before)


def _begins_with_object(body: bytes, begin: int) -> bool:
    """Return whether an array begins there, and its first value is an object."""
    first = next_place(body, begin + 1)
    return body[begin : begin + 1] == b"[" and body[first : first + 1] == b"{"


def continues(body: bytes, begin: int, json: bytes) -> bool:
    """Return whether an array that begins there has these items first, and others after them."""
    if not body.startswith(json, begin):
        return False
    behind = next_place(body, begin + len(json))
    return body[behind : behind + 1] == b","
