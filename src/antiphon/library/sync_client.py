"""`Antiphon`: the Responses API as an object, for programs without an event loop, and for every
thread.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Self

from antiphon.config import Settings
from antiphon.library.async_client import AsyncAntiphon
from antiphon.library.background_loop import LoopOwner
from antiphon.library.sync_resources.conversations import Conversations
from antiphon.library.sync_resources.models import Models
from antiphon.library.sync_resources.responses import Responses
from antiphon.upstream.backend import Backend

if TYPE_CHECKING:
    from antiphon.agents.registration import Agent
    from antiphon.library.sync_resources.containers import Containers
    from antiphon.library.sync_resources.embeddings import Embeddings
    from antiphon.library.sync_resources.files import Files
    from antiphon.library.sync_resources.images import Images
    from antiphon.library.sync_resources.prompts import Prompts
    from antiphon.library.sync_resources.vector_stores import VectorStores


class Antiphon:
    """The whole API inside your program, with the resources and methods of the official SDK.

    These are `responses`, `conversations`, `models`, `files`, `vector_stores`, `containers`, `embeddings` and `images`,
    and our own `prompts`.

    It is `AsyncAntiphon` without `await`, with the same arguments and errors. Without arguments it is the scripted
    model `demo`, with its state in memory.

    Any thread can use it, also one with a running event loop, which waits meanwhile. It works in one thread of its own,
    which begins with the first call and ends with `close`, the end of `with`, or the end of the program. After a fork,
    a client that was used before raises `RuntimeError`.

    >>> from antiphon import Antiphon
    >>> with Antiphon() as client:
    ...     response = client.responses.create(model="demo", input="My name is Ada.")
    ...     print(response.output_text)
    I am demo, Antiphon's scripted model. I received 1 message. You said: My name is Ada.
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
        self._client = AsyncAntiphon(settings, backend=backend, key=key, store=store, agents=agents)
        self._owner = owner = LoopOwner(self._client.close)
        self.responses = Responses(self._client.responses, owner)
        self.conversations = Conversations(self._client.conversations, owner)
        self.models = Models(self._client.models, owner)

    @cached_property
    def files(self) -> "Files":
        """Files that requests, vector stores and containers use."""
        from antiphon.library.sync_resources.files import Files  # noqa: PLC0415 - loaded at its first use

        return Files(self._client.files, self._owner)

    @cached_property
    def vector_stores(self) -> "VectorStores":
        """Vector stores, which `file_search` searches."""
        from antiphon.library.sync_resources.vector_stores import VectorStores  # noqa: PLC0415 - loaded at its first use

        return VectorStores(self._client.vector_stores, self._owner)

    @cached_property
    def containers(self) -> "Containers":
        """Containers, in which `code_interpreter` runs."""
        from antiphon.library.sync_resources.containers import Containers  # noqa: PLC0415 - loaded at its first use

        return Containers(self._client.containers, self._owner)

    @cached_property
    def prompts(self) -> "Prompts":
        """Prompts: stored templates of requests."""
        from antiphon.library.sync_resources.prompts import Prompts  # noqa: PLC0415 - loaded at its first use

        return Prompts(self._client.prompts, self._owner)

    @cached_property
    def embeddings(self) -> "Embeddings":
        """Vectors of texts."""
        from antiphon.library.sync_resources.embeddings import Embeddings  # noqa: PLC0415 - loaded at its first use

        return Embeddings(self._client.embeddings, self._owner)

    @cached_property
    def images(self) -> "Images":
        """Images."""
        from antiphon.library.sync_resources.images import Images  # noqa: PLC0415 - loaded at its first use

        return Images(self._client.images, self._owner)

    def close(self) -> None:
        """Release connections, the store and the thread.

        The next process that opens the store continues its work.
        """
        self._owner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
