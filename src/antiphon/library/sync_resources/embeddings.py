"""The embeddings of `Antiphon`.

Written by `scripts/sync_client.py`.
"""

from typing import Unpack

from antiphon.library.background_loop import LoopOwner
from antiphon.library.file_parameters import EmbeddingParameters
from antiphon.library.resources.embeddings import AsyncEmbeddings
from antiphon.library.signatures import spelled_out
from antiphon.protocol.forwarded_results import CreateEmbeddingResponse


class Embeddings:
    """Vectors of texts, computed by a backend."""

    def __init__(self, resource: AsyncEmbeddings, owner: LoopOwner) -> None:
        self._resource = resource
        self._owner = owner

    @spelled_out
    def create(self, **parameters: Unpack[EmbeddingParameters]) -> CreateEmbeddingResponse:
        """Return the vectors of one text or of several, in their order.

        The vectors are lists of numbers. With `encoding_format="base64"`, they are texts, as the
        backend sends them.
        """
        return self._owner.run(self._resource.create(**parameters))
