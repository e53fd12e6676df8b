"""The interfaces that the `image_generation` tool needs: a server that generates images, and a
store for them.
"""

from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Protocol

from antiphon.protocol.stored_images import StoredImage


class ImagesReply(Protocol):
    """A server's reply while its body arrives.

    Iteration raises `AntiphonError` if the connection breaks.
    """

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
        """The bytes as they arrive."""
        ...

    def charge(self, prompt: str, input_tokens: int, output_tokens: int) -> None:
        """Charge the reported tokens to the API key of the request; without a report, an estimate
        from the prompt.
        """
        ...

    async def close(self) -> None:
        """End the exchange."""
        ...


class ImagesServer(Protocol):
    """A server with `/images/generations` and `/images/edits`, as OpenAI has them, below its base
    URL.
    """

    name: str
    """Its name in errors."""

    async def post(
        self, path: str, make: Callable[[str], tuple[bytes, str]], tenant: str
    ) -> ImagesReply:
        """POST a request; `make` returns its body and content type, for the server's name of the
        model.

        Raises `AntiphonError` if no server can be reached.
        """
        ...

    def has(self, url: str) -> bool:
        """Whether a URL of a reply is on the server itself, which the operator trusts."""
        ...

    async def get(self, url: str, most: int) -> bytes:
        """Return the content at such a URL, up to this many bytes.

        Raises `OSError` with the reason.
        """
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


FetchImage = Callable[[str, int, str], Awaitable[bytes]]
"""Fetches an image from any other permitted URL, up to this many bytes, for a tenant.

Raises `OSError` with the reason.
"""


class ImageStore(Protocol):
    """Stores the images of stored responses, and finds those that requests refer to."""

    async def save(self, tenant: str, data: bytes) -> str:
        """Store an image until a response is stored with it; return its blob.

        Raises `ClientError` (429) if the tenant has no room, `StoreError`.
        """
        ...

    async def load(self, tenant: str, stored_image: StoredImage) -> bytes | None:
        """Return a stored image, None if the tenant has no such blob. Raises `StoreError`."""
        ...

    async def load_file(self, tenant: str, file_id: str, most: int) -> bytes | None:
        """Return the content of a file, None if it is unknown or larger. Raises `StoreError`."""
        ...
