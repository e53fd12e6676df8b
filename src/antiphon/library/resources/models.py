"""The models of `AsyncAntiphon`."""

from typing import Unpack

from antiphon.gateway import Gateway, JsonObject
from antiphon.library.call import ApiCall
from antiphon.library.calls import Calls
from antiphon.library.options import Options
from antiphon.library.pages import AsyncModelList
from antiphon.library.parameters import CallOptions
from antiphon.library.signatures import spelled_out
from antiphon.protocol.results import Model, ModelList


class AsyncModels:
    """The models that requests can name."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    @spelled_out
    def list(self, **options: Unpack[CallOptions]) -> AsyncModelList:
        """Return the models that the backends have now.

        >>> import asyncio
        >>> from antiphon import AsyncAntiphon
        >>> async def main() -> None:
        ...     async with AsyncAntiphon() as client:
        ...         async for model in client.models.list():
        ...             print(model.id)
        >>> asyncio.run(main())
        demo
        """

        async def direct(gateway: Gateway) -> JsonObject:
            return {"object": "list", "data": await gateway.models.list(_no_key)}

        async def fetch() -> ModelList:
            return await self._calls.call(
                ModelList, ApiCall("GET", "/models"), Options.of(options), direct
            )

        return AsyncModelList(fetch)

    @spelled_out
    async def retrieve(self, model: str, **options: Unpack[CallOptions]) -> Model:
        """Return a model that the backends have now. Raises `NotFoundError` if no backend has it.

        >>> import asyncio
        >>> from antiphon import AsyncAntiphon
        >>> async def main() -> None:
        ...     async with AsyncAntiphon() as client:
        ...         model = await client.models.retrieve("demo")
        ...         print(model.owned_by)
        >>> asyncio.run(main())
        antiphon
        """

        async def direct(gateway: Gateway) -> JsonObject:
            return await gateway.models.retrieve(model, _no_key)

        return await self._calls.call(
            Model, ApiCall("GET", f"/models/{model}"), Options.of(options), direct
        )


async def _no_key() -> None:
    """Calls inside a program need no API key, so they see every model."""
