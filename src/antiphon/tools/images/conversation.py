"""The images of a conversation, which can be edited: those of users and tools, and generated ones.

A call without an image, or with one in progress, has a number too, so numbers never change.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from antiphon.protocol.items.content import InputImage
from antiphon.protocol.items.hosted import ImageGenerationCall
from antiphon.protocol.items.messages import InputItem

Seen = InputImage | ImageGenerationCall


def images_of(items: Sequence[InputItem]) -> list[Seen]:
    """Return the images of a conversation in their order: the first has the number 1."""
    return [image for item in items for image in _of(item)]


def has_image(seen: Seen) -> bool:
    """Whether there is an image: a call may have failed, or may still be running."""
    return isinstance(seen, InputImage) or bool(seen.result)


def _of(item: Any) -> Iterator[Seen]:
    if isinstance(item, ImageGenerationCall):
        yield item
        return
    for content in (getattr(item, "content", None), getattr(item, "output", None)):
        for part in content if isinstance(content, list) else ():
            if isinstance(part, InputImage):
                yield part
