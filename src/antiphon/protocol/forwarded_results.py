"""Answers of a backend that are forwarded as they are: embeddings and images.

Their `to_dict()` has every field that the backend sent, also those without an attribute here.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import field
from msgspec.structs import fields

from antiphon.protocol.objects import ApiObject


class Forwarded(ApiObject, kw_only=True):
    """An answer with known fields. `sent` is the whole answer, as the backend sent it."""

    sent: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain data, as the backend sent it."""
        return self.sent

    def __repr__(self) -> str:
        known = (
            (one.name, getattr(self, one.name), one.default)
            for one in fields(self)
            if one.name != "sent"
        )
        values = ", ".join(
            f"{name}={value!r}" for name, value, default in known if value != default
        )
        return f"{type(self).__name__}({values})"


class Embedding(ApiObject, kw_only=True):
    """The vector of the input with this index; a text in base64 if the `encoding_format` is
    `base64`.
    """

    embedding: list[float] | str
    index: int = 0
    object: str = "embedding"


class EmbeddingUsage(ApiObject, kw_only=True):
    """The tokens of the input."""

    prompt_tokens: int = 0
    total_tokens: int = 0


class CreateEmbeddingResponse(Forwarded, kw_only=True):
    """Embeddings in the order of the inputs."""

    data: list[Embedding]
    model: str = ""
    object: str = "list"
    usage: EmbeddingUsage | None = None


class Image(ApiObject, kw_only=True):
    """An image: its bytes in base64, or its URL."""

    b64_json: str | None = None
    url: str | None = None
    revised_prompt: str | None = None


class ImagesResponse(Forwarded, kw_only=True):
    """Images. `created` is in whole seconds since the epoch, 0 if the backend does not say."""

    created: int = 0
    data: list[Image] | None = None
    background: str | None = None
    output_format: str | None = None
    quality: str | None = None
    size: str | None = None
    usage: dict[str, Any] | None = None


class _ImageEvent(Forwarded, kw_only=True):
    """What the events of images have in common: an image in base64, and how it was made."""

    type: str = ""
    b64_json: str = ""
    created_at: int = 0
    background: str | None = None
    output_format: str | None = None
    quality: str | None = None
    size: str | None = None


class ImageGenPartialImageEvent(_ImageEvent, kw_only=True):
    """An image while it is generated: `image_generation.partial_image`."""

    partial_image_index: int = 0


class ImageGenCompletedEvent(_ImageEvent, kw_only=True):
    """A generated image: `image_generation.completed`."""

    usage: dict[str, Any] | None = None


class ImageEditPartialImageEvent(ImageGenPartialImageEvent, kw_only=True):
    """An image while it is edited: `image_edit.partial_image`."""


class ImageEditCompletedEvent(ImageGenCompletedEvent, kw_only=True):
    """An edited image: `image_edit.completed`."""


class UnknownImageEvent(Forwarded, kw_only=True):
    """An event of another type; `sent` has its fields."""

    type: str = ""


ImageGenStreamEvent = ImageGenPartialImageEvent | ImageGenCompletedEvent | UnknownImageEvent
ImageEditStreamEvent = ImageEditPartialImageEvent | ImageEditCompletedEvent | UnknownImageEvent

IMAGE_EVENTS: Mapping[str, type[Forwarded]] = {
    "image_generation.partial_image": ImageGenPartialImageEvent,
    "image_generation.completed": ImageGenCompletedEvent,
    "image_edit.partial_image": ImageEditPartialImageEvent,
    "image_edit.completed": ImageEditCompletedEvent,
}
"""The events of images by their type."""
