"""`AsyncAntiphon`: the Responses API as an object, for programs with an event loop."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Self

from antiphon.config import Settings
from antiphon.library.calls import Calls
from antiphon.library.resources.conversations import AsyncConversations
from antiphon.library.resources.models import AsyncModels
from antiphon.library.resources.responses import AsyncResponses
from antiphon.library.service import LibraryService
from antiphon.upstream.backend import Backend

if TYPE_CHECKING:
    from antiphon.agents.registration import Agent
    from antiphon.library.resources.containers import AsyncContainers
    from antiphon.library.resources.embeddings import AsyncEmbeddings
    from antiphon.library.resources.files import AsyncFiles
    from antiphon.library.resources.images import AsyncImages
    from antiphon.library.resources.prompts import AsyncPrompts
    from antiphon.library.resources.vector_stores import AsyncVectorStores


class AsyncAntiphon:
    """The whole API inside your program, with the resources and methods of the official SDK.

    These are `responses`, `conversations`, `models`, `files`, `vector_stores`, `containers`, `embeddings` and `images`,
    and our own `prompts`.

    Without arguments it is the scripted model `demo`, with its state in memory.

    - `settings` are the settings of a server. Without backends in them, and without `backend`, the model servers on
      this machine are found.
    - `backend` is a base URL or any `Backend`. With backends in `settings` too, it raises `ConfigError`.
    - `key` is the API key for the base URL. Without a URL, it raises `ConfigError`.
    - `store` is where state is stored: a URL as in `Settings.store`, which it replaces. Without `settings`, the default
      is memory.
    - `agents` are your own, which run in this event loop, and which calls name as their model.

    A client belongs to the event loop of its first use. Methods raise `ClientError` for a request that the API answers
    with 4xx, `BackendError` if the model's server fails, `StoreError` if the store does, `ConfigError` for settings
    that cannot be used, and `RuntimeError` if the client is closed or belongs to another event loop.

    >>> import asyncio
    >>> from antiphon import AsyncAntiphon
    >>> async def main() -> None:
    ...     async with AsyncAntiphon() as client:
    ...         response = await client.responses.create(model="demo", input="My name is Ada.")
    ...         print(response.status)
    >>> asyncio.run(main())
    completed
    """  # noqa: E501 - a table, a diagram or an example

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        backend: str | Backend | None = None,
        key: str = "",
        store: str | None = None,
        agents: "Sequence[Agent]" = (),
    ) -> None:
        self._calls = calls = Calls(LibraryService(settings, backend, key, store, agents=agents))
        self.responses = AsyncResponses(calls)
        self.conversations = AsyncConversations(calls)
        self.models = AsyncModels(calls)

    @cached_property
    def files(self) -> "AsyncFiles":
        """Files that requests, vector stores and containers use."""
        from antiphon.library.resources.files import AsyncFiles  # noqa: PLC0415 - loaded at its first use

        return AsyncFiles(self._calls)

    @cached_property
    def vector_stores(self) -> "AsyncVectorStores":
        """Vector stores, which `file_search` searches."""
        from antiphon.library.resources.vector_stores import AsyncVectorStores  # noqa: PLC0415 - loaded at its first use

        return AsyncVectorStores(self._calls)

    @cached_property
    def containers(self) -> "AsyncContainers":
        """Containers, in which `code_interpreter` runs."""
        from antiphon.library.resources.containers import AsyncContainers  # noqa: PLC0415 - loaded at its first use

        return AsyncContainers(self._calls)

    @cached_property
    def prompts(self) -> "AsyncPrompts":
        """Prompts: stored templates of requests."""
        from antiphon.library.resources.prompts import AsyncPrompts  # noqa: PLC0415 - loaded at its first use

        return AsyncPrompts(self._calls)

    @cached_property
    def embeddings(self) -> "AsyncEmbeddings":
        """Vectors of texts."""
        from antiphon.library.resources.embeddings import AsyncEmbeddings  # noqa: PLC0415 - loaded at its first use

        return AsyncEmbeddings(self._calls)

    @cached_property
    def images(self) -> "AsyncImages":
        """Images."""
        from antiphon.library.resources.images import AsyncImages  # noqa: PLC0415 - loaded at its first use

        return AsyncImages(self._calls)

    async def close(self) -> None:
        """Release connections and the store.

        The next process that opens the store continues background work.
        """
        await self._calls.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
