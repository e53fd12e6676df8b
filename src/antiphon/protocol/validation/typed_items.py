"""Decodes the items of a large input to their types at once, without plain data between.

Most histories consist of a few kinds of items, in the form that the API gives them. Those need no
change before their types read them, so one pass in C decodes and checks them. Any other input is
read as plain JSON, which also raises all errors.
"""

from functools import reduce
from operator import attrgetter, or_
from typing import Any

from msgspec import DecodeError, Raw, Struct, convert
from msgspec.json import Decoder

from antiphon.protocol.items.content import Part
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.json_members import decode_number, read_list
from antiphon.protocol.known_inputs import KINDS, SentTexts
from antiphon.protocol.requests import MOST_ITEMS
from antiphon.protocol.validation.validate import MAX_DEPTH, is_deep

LEAST = 256
"""Characters of the shortest output of which the JSON is kept."""

_KIND: Any = reduce(or_, sorted(KINDS, key=str))

_decode = Decoder(list[_KIND], float_hook=decode_number).decode


_NONE = Raw()


class _Sent(Struct):
    """The output of an item as it was sent, if it has one."""

    output: Raw = _NONE


_decode_outputs = Decoder(list[_Sent]).decode

FREE_ITEMS = ("internal_chat_message_metadata_passthrough", "caller", "parsed_arguments")
FREE_PARTS = ("annotations", "logprobs", "parsed", "prompt_cache_breakpoint")
"""The fields of items and of their parts that a client nests as deeply as it wants."""

_nesting = {
    kind: attrgetter(
        *(
            name
            for name in kind.__struct_fields__  # type: ignore[attr-defined]
            if name in (*FREE_ITEMS, "content", "output", "id")
        )
    )
    for kind in KINDS
}
"""Returns the fields of an item in which parts or such data can be, and its id."""

_CONTAINERS = frozenset[type]({dict, list})


class TypedItems(list[InputItem]):
    """Items that are checked by their types, each on its own."""

    __slots__ = ("texts",)

    def __init__(self) -> None:
        super().__init__()
        self.texts: SentTexts = {}
        """Long outputs that are not ASCII: Python takes as long to write one in UTF-8 as to read
        it.
        """

    def decode(self, json: bytes) -> list[Any]:
        """Return an array of items, and note its texts. Raises what `Decoder.decode` raises."""
        items: list[Any] = _decode(json)
        if json.isascii():
            return items
        for item, sent in zip(items, _decode_outputs(json), strict=True):
            if sent.output is not _NONE:
                text = item.output
                if type(text) is str and len(text) >= LEAST and not text.isascii():
                    self.texts[id(text)] = text, sent.output
        return items


def read_items(body: bytes, begin: int) -> tuple[list[Any], int]:
    """Return the same as `read_list`; as `TypedItems` where that is possible."""
    items = TypedItems()
    try:
        values, end = read_list(body, begin, items.decode)
        items += [convert(value, _KIND) if type(value) is dict else value for value in values]
    except (DecodeError, ValueError, RecursionError):
        return read_list(body, begin)
    if len(items) > MOST_ITEMS or not KINDS.issuperset(map(type, items)) or _is_nested(items):
        return read_list(body, begin)
    return items, end


def _is_nested(items: list[Any]) -> bool:
    """Return whether what the types of items do not describe can be deeper than a body may be."""
    found: list[Any] = [
        value
        for item in items
        for value in _nesting[type(item)](item)
        if type(value) in _CONTAINERS and value
    ]
    free = [value for value in found if type(value) is dict or not isinstance(value[0], Part)]
    parts = [part for value in found if type(value) is list for part in value]
    free += [
        value
        for part in parts
        for name in FREE_PARTS
        if type(value := getattr(part, name, None)) in _CONTAINERS and value
    ]
    return bool(free) and is_deep(free, MAX_DEPTH // 2)
