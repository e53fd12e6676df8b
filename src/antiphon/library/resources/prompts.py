"""The prompts of `AsyncAntiphon`: templates of requests, in versions that never change."""

from typing import Any, Unpack

from antiphon.library.call import ApiCall, path
from antiphon.library.calls import Calls
from antiphon.library.file_parameters import (
    PromptPageParameters,
    PromptParameters,
    PromptVersionParameters,
)
from antiphon.library.options import Options
from antiphon.library.pages import AsyncPages, Listed
from antiphon.library.parameters import CallOptions, as_query, without_options
from antiphon.library.signatures import spelled_out
from antiphon.protocol.hosted_results import Prompt, PromptDeleted

ONE = "/prompts/{}"


class AsyncPrompts:
    """Prompts: templates of requests, which the parameter `prompt` of `responses.create` names."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    @spelled_out
    async def create(self, **parameters: Unpack[PromptParameters]) -> Prompt:
        """Create a prompt with its first version.

        >>> import asyncio
        >>> from antiphon import AsyncAntiphon
        >>> async def main() -> None:
        ...     async with AsyncAntiphon() as client:
        ...         prompt = await client.prompts.create(name="guide", instructions="You guide through {{city}}.")
        ...         print(prompt.version, prompt.variables)
        >>> asyncio.run(main())
        1 ['city']
        """  # noqa: E501 - a table, a diagram or an example
        call = ApiCall("POST", "/prompts", body=without_options(parameters))
        return await self._calls.send(Prompt, call, Options.of(parameters))

    @spelled_out
    async def create_version(
        self, prompt_id: str, **parameters: Unpack[PromptVersionParameters]
    ) -> Prompt:
        """Add a version to a prompt."""
        call = ApiCall("POST", path(ONE, prompt_id), body=without_options(parameters))
        return await self._calls.send(Prompt, call, Options.of(parameters))

    @spelled_out
    async def retrieve(
        self, prompt_id: str, *, version: int | str | None = None, **options: Unpack[CallOptions]
    ) -> Prompt:
        """Return a version of a prompt, without `version` the default one."""
        call = ApiCall("GET", path(ONE, prompt_id), as_query({"version": version}))
        return await self._calls.send(Prompt, call, Options.of(options))

    @spelled_out
    def list(self, **parameters: Unpack[PromptPageParameters]) -> AsyncPages[Prompt]:
        """Return the prompts in their default versions, newest first unless `order` is `asc`."""
        return self._calls.pages(Prompt, "/prompts", parameters)

    @spelled_out
    def list_versions(
        self, prompt_id: str, **parameters: Unpack[PromptPageParameters]
    ) -> AsyncPages[Prompt]:
        """Return the versions of a prompt, newest first unless `order` is `asc`; `after` is a
        version number.
        """
        return self._calls.pages(
            Prompt, path(f"{ONE}/versions", prompt_id), parameters, last_version
        )

    @spelled_out
    async def set_default_version(
        self, prompt_id: str, *, version: int | str, **options: Unpack[CallOptions]
    ) -> Prompt:
        """Make a version the default of its prompt."""
        call = ApiCall("POST", path(f"{ONE}/default_version", prompt_id), body={"version": version})
        return await self._calls.send(Prompt, call, Options.of(options))

    @spelled_out
    async def delete(self, prompt_id: str, **options: Unpack[CallOptions]) -> PromptDeleted:
        """Delete a prompt with all its versions."""
        return await self._calls.send(
            PromptDeleted, ApiCall("DELETE", path(ONE, prompt_id)), Options.of(options)
        )


def last_version(page: Listed[Any]) -> str:
    """Return the cursor of a list of versions: the number of the last one."""
    return str(page.data[-1].version)
