"""What the `image_generation` tool needs of the rest: a server that makes images, and a place to keep them."""

from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Protocol

from antiphon.protocol.kept_images import KeptImage


class ImagesReply(Protocol):
    """A server's reply during its body. Iteration raises `AntiphonError` if the connection breaks."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def content_type(self) -> str:
        """The media type, in lower case and without parameters."""
        ...

    @property
    def body(self) -> AsyncIterable[bytes]:
        """The bytes as they come."""
        ...

    def charge(self, prompt: str, input_tokens: int, output_tokens: int) -> None:
        """Charge the reported tokens to the API key of the request; without any, those that the prompt looks like."""
        ...

    async def close(self) -> None:
        """End the exchange."""
        ...


class ImagesServer(Protocol):
    """A server with `/images/generations` and `/images/edits`, as OpenAI has them, below its base URL."""

    name: str
    """As errors name it."""

    async def post(self, path: str, make: Callable[[str], tuple[bytes, str]], tenant: str) -> ImagesReply:
        """POST a request; `make` returns its body and the type of that, for the name of the model at the server.

        Raises `AntiphonError` where no server can be reached.
        """
        ...

    def has(self, url: str) -> bool:
        """Whether a URL of a reply is one of the server itself, which the operator trusts."""
        ...

    async def get(self, url: str, most: int) -> bytes:
        """Return what is at such a URL, of at most so many bytes. Raises `OSError` with the reason."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


FetchImage = Callable[[str, int, str], Awaitable[bytes]]
"""Fetches an image by any other URL, from within reach alone, of so many bytes at most, for a tenant.

Raises `OSError` with the reason.
"""


class ImageStore(Protocol):
    """Keeps the images of responses that are stored, and finds what requests refer to."""

    async def keep(self, tenant: str, data: bytes) -> str:
        """Keep an image until a response is stored with it; return its blob.

        Raises `ClientError` (429) where the tenant has no room, `StoreError`.
        """
        ...

    async def load(self, tenant: str, kept: KeptImage) -> bytes | None:
        """Return a kept image, None where the tenant has no such blob. Raises `StoreError`."""
        ...

    async def load_file(self, tenant: str, file_id: str, most: int) -> bytes | None:
        """Return the content of a file, None where it is unknown or has more bytes. Raises `StoreError`."""
        ...
