"""The prompts of `Antiphon`: templates of requests, in versions that never change.

Written by `scripts/sync_client.py`.
"""

from typing import Unpack

from antiphon.library.background_loop import LoopOwner
from antiphon.library.file_parameters import (
    PromptPageParameters,
    PromptParameters,
    PromptVersionParameters,
)
from antiphon.library.pages import Pages
from antiphon.library.parameters import CallOptions
from antiphon.library.resources.prompts import AsyncPrompts
from antiphon.library.signatures import spelled_out
from antiphon.protocol.hosted_results import Prompt, PromptDeleted


class Prompts:
    """Prompts: templates of requests, which the parameter `prompt` of `responses.create` names."""

    def __init__(self, resource: AsyncPrompts, owner: LoopOwner) -> None:
        self._resource = resource
        self._owner = owner

    @spelled_out
    def create(self, **parameters: Unpack[PromptParameters]) -> Prompt:
        """Create a prompt with its first version.

        >>> from antiphon import Antiphon
        >>> with Antiphon() as client:
        ...     prompt = client.prompts.create(name="guide", instructions="You guide through {{city}}.")
        ...     print(prompt.version, prompt.variables)
        1 ['city']
        """  # noqa: E501 - a table, a diagram or an example
        return self._owner.run(self._resource.create(**parameters))

    @spelled_out
    def create_version(
        self, prompt_id: str, **parameters: Unpack[PromptVersionParameters]
    ) -> Prompt:
        """Add a version to a prompt."""
        return self._owner.run(self._resource.create_version(prompt_id, **parameters))

    @spelled_out
    def retrieve(
        self, prompt_id: str, *, version: int | str | None = None, **options: Unpack[CallOptions]
    ) -> Prompt:
        """Return a version of a prompt, without `version` the default one."""
        return self._owner.run(self._resource.retrieve(prompt_id, version=version, **options))

    @spelled_out
    def list(self, **parameters: Unpack[PromptPageParameters]) -> Pages[Prompt]:
        """Return the prompts in their default versions, newest first unless `order` is `asc`."""
        return Pages(self._resource.list(**parameters), self._owner)

    @spelled_out
    def list_versions(
        self, prompt_id: str, **parameters: Unpack[PromptPageParameters]
    ) -> Pages[Prompt]:
        """Return the versions of a prompt, newest first unless `order` is `asc`; `after` is a
        version number."""
        return Pages(self._resource.list_versions(prompt_id, **parameters), self._owner)

    @spelled_out
    def set_default_version(
        self, prompt_id: str, *, version: int | str, **options: Unpack[CallOptions]
    ) -> Prompt:
        """Make a version the default of its prompt."""
        return self._owner.run(
            self._resource.set_default_version(prompt_id, version=version, **options)
        )

    @spelled_out
    def delete(self, prompt_id: str, **options: Unpack[CallOptions]) -> PromptDeleted:
        """Delete a prompt with all its versions."""
        return self._owner.run(self._resource.delete(prompt_id, **options))
