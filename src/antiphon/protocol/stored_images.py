"""Where the result of an `image_generation_call` is stored: in a blob, so that later turns need not
read the image.

A stored item, and an event that is stored for replay, have a reference instead of the base64. The
reference is not a secret: a blob is read only for the tenant that owns it, so a reference invented
by a client leads nowhere else.
"""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from msgspec.structs import replace

from antiphon.protocol.items.content import Item
from antiphon.protocol.items.hosted import STORED_FIELDS, ImageGenerationCall

USAGE = (
    ("input_tokens", ""),
    ("input_tokens_details", "image_tokens"),
    ("input_tokens_details", "text_tokens"),
    ("output_tokens", ""),
    ("output_tokens_details", "image_tokens"),
    ("output_tokens_details", "text_tokens"),
)
"""What a backend reports of the tokens of an image, as paths in its `usage`."""

PIECE = 3 * 256 * 1024
"""Bytes that become base64 at once, without padding in between: Python's lock is held for less than
2 ms.
"""


def as_base64(data: bytes) -> str:
    """Return base64, created in pieces so that a thread does not stop the event loop."""
    return b"".join(
        b64encode(data[begin : begin + PIECE]) for begin in range(0, len(data), PIECE)
    ).decode()


@dataclass(frozen=True, slots=True)
class StoredImage:
    """A blob with the bytes of an image, its size, and the tokens that generating it took
    (`USAGE`).

    Without a `blob` the image is not stored.
    """

    blob: str
    size: int
    usage: Sequence[int] = (0,) * len(USAGE)

    @property
    def reference(self) -> str:
        """The reference that replaces the base64."""
        return f"{STORED_FIELDS}{self.blob}:{self.size}:{','.join(map(str, self.usage))}"

    @classmethod
    def read(cls, text: object) -> Self | None:
        """Return the content of a reference, None for anything else."""
        if not isinstance(text, str) or not text.startswith(STORED_FIELDS):
            return None
        blob, _, rest = text.removeprefix(STORED_FIELDS).partition(":")
        size, _, usage = rest.partition(":")
        numbers = [size, *usage.split(",")]
        if len(numbers) != 1 + len(USAGE) or not all(
            one.isascii() and one.isdecimal() for one in numbers
        ):
            return None
        first, *others = (int(one[:18]) for one in numbers)
        return cls(blob, first, tuple(others))


def note_stored(item: ImageGenerationCall, stored_image: StoredImage | None) -> None:
    """Record on an item that a client sees where its image is stored."""
    if stored_image is not None:
        item.__dict__["kept"] = stored_image


def stored_image_of(item: ImageGenerationCall) -> StoredImage | None:
    """Return where the image of an item is stored, None if that is unknown."""
    noted: StoredImage | None = item.__dict__.get("kept")
    return noted or StoredImage.read(item.result)


def as_stored(item: Item) -> tuple[Item, StoredImage | None]:
    """Return an item as it is stored, and where its image is stored."""
    stored = stored_image_of(item) if isinstance(item, ImageGenerationCall) else None
    if stored is None or not stored.blob:
        return item, None
    return replace(item, result=stored.reference), stored


def as_logged(event: Any) -> Any:
    """Return an event as it is stored for replay."""
    if isinstance(getattr(event, "item", None), ImageGenerationCall):
        return replace(event, item=as_stored(event.item)[0])
    response = getattr(event, "response", None)
    if response is None or ImageGenerationCall not in map(type, response.output):
        return event
    output = [as_stored(item)[0] for item in response.output]
    return replace(event, response=replace(response, output=output))


def usage_of(items: Sequence[Any]) -> dict[str, Any] | None:
    """Return the tokens that these images took (specification section 8); None without an image
    generated here.
    """
    created = [
        stored
        for item in items
        if isinstance(item, ImageGenerationCall) and (stored := stored_image_of(item))
    ]
    return (
        usage_object([sum(one) for one in zip(*(stored.usage for stored in created), strict=True)])
        if created
        else None
    )


def usage_object(tokens: Sequence[int]) -> dict[str, Any]:
    """Return tokens as the API shows them."""
    displayed: dict[str, Any] = {}
    for (name, detail), count in zip(USAGE, tokens, strict=True):
        if detail:
            displayed.setdefault(name, {})[detail] = count
        else:
            displayed[name] = count
    return {**displayed, "total_tokens": tokens[0] + tokens[3]}
