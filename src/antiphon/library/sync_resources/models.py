"""The models of `Antiphon`.

Written by `scripts/sync_client.py`.
"""

from typing import Unpack

from antiphon.library.background_loop import LoopOwner
from antiphon.library.parameters import CallOptions
from antiphon.library.resources.models import AsyncModels
from antiphon.library.signatures import spelled_out
from antiphon.protocol.results import Model, ModelList


class Models:
    """The models that requests can name."""

    def __init__(self, resource: AsyncModels, owner: LoopOwner) -> None:
        self._resource = resource
        self._owner = owner

    @spelled_out
    def list(self, **options: Unpack[CallOptions]) -> ModelList:
        """Return the models that the backends have now.

        >>> from antiphon import Antiphon
        >>> with Antiphon() as client:
        ...     for model in client.models.list():
        ...         print(model.id)
        demo
        """
        return self._owner.run(self._resource.list(**options).fetch())

    @spelled_out
    def retrieve(self, model: str, **options: Unpack[CallOptions]) -> Model:
        """Return a model that the backends have now. Raises `NotFoundError` if no backend has it.

        >>> from antiphon import Antiphon
        >>> with Antiphon() as client:
        ...     model = client.models.retrieve("demo")
        ...     print(model.owned_by)
        antiphon
        """
        return self._owner.run(self._resource.retrieve(model, **options))
