"""The embeddings of `AsyncAntiphon`."""

from typing import Unpack

from antiphon.library.call import ApiCall
from antiphon.library.calls import Calls
from antiphon.library.file_parameters import EmbeddingParameters
from antiphon.library.options import Options
from antiphon.library.parameters import with_extra
from antiphon.library.signatures import spelled_out
from antiphon.protocol.forwarded_results import CreateEmbeddingResponse


class AsyncEmbeddings:
    """Vectors of texts, computed by a backend."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    @spelled_out
    async def create(self, **parameters: Unpack[EmbeddingParameters]) -> CreateEmbeddingResponse:
        """Return the vectors of one text or of several, in their order.

        The vectors are lists of numbers. With `encoding_format="base64"`, they are texts, as the
        backend sends them.
        """
        call = ApiCall("POST", "/embeddings", body=with_extra(parameters))
        return await self._calls.send(CreateEmbeddingResponse, call, Options.of(parameters))
