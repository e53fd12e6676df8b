"""Builds the code tools from the settings: nothing without `code_sandbox`, and most of it at the
first request.
"""

import os
from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from antiphon.build.attachments import FileParts
from antiphon.build.foundation import Foundation
from antiphon.config import Settings, clean_key
from antiphon.errors import AntiphonError, ClientError, ConfigError, log
from antiphon.extras import missing
from antiphon.packages import require_module
from antiphon.sharing.lazy import Lazy
from antiphon.storage.operations import sizes
from antiphon.storage.store import Store
from antiphon.tools.base import CodeState, ContainerTools
from antiphon.tools.later import ContainerToolsLater

if TYPE_CHECKING:
    from antiphon.history.attachments import Attachments
    from antiphon.objects.files import Files
    from antiphon.sandbox.contract import Sandbox
    from antiphon.storage.records.files import StoredFile
    from antiphon.tools.code.content import FetchedContent, WrittenBlob
    from antiphon.tools.code.tool import CodeLimits, CodeTools


class CodeSandbox:
    """The sandbox that the settings name, after its probe; `problem` says why it cannot be used."""

    def __init__(self, sandbox: "Sandbox", settings: Settings, problem: str) -> None:
        self._sandbox = sandbox
        self._settings = settings
        self._problem = problem
        self._tools: CodeTools | None = None

    def tools(self, base: Foundation, files: FileParts) -> ContainerTools | None:
        """Return the tools that run code with the files of a process, or None if the sandbox cannot
        be used.
        """
        if self._problem:
            return None
        return ContainerToolsLater(Lazy(partial(self._open, base, files)), self._sandbox.close)

    def state(self) -> CodeState:
        """Return the state of the sandbox."""
        name = self._settings.code_sandbox
        return (
            self._tools.state(name) if self._tools is not None else CodeState(name, self._problem)
        )

    def _open(self, base: Foundation, files: FileParts) -> "CodeTools":
        from antiphon.tools.code.tool import CodeTools  # noqa: PLC0415 - for requests with code alone

        content = FileContent(base.store, files.files.get(), files.attachments)
        limits = limits_of(self._settings)
        self._tools = CodeTools(
            self._sandbox,
            base.store,
            content,
            base.process.worker,
            limits,
            base.shared,
            base.new_id,
            base.now,
        )
        return self._tools


async def open_sandbox(
    settings: Settings, environment: Mapping[str, str] | None = None
) -> CodeSandbox | None:
    """Return the sandbox of the settings after its probe; None if the settings name none.

    A sandbox that does not work is logged, and the server starts without it. Raises `ConfigError`
    if its key is missing.
    """
    if not settings.code_sandbox:
        return None
    sandbox = sandbox_of(settings, os.environ if environment is None else environment)
    problem = await _tried(sandbox)
    if problem:
        log.warning(
            "The sandbox '%s' does not work, so the tools code_interpreter and shell "
            "are disabled: %s",
            settings.code_sandbox,
            problem,
        )
        await sandbox.close()
    return CodeSandbox(sandbox, settings, problem)


async def sandbox_problem(settings: Settings, environment: Mapping[str, str]) -> str:
    """Return why the sandbox of the settings does not work, and what to do; empty if it works.

    Raises `ConfigError` if its key is missing.
    """
    sandbox = sandbox_of(settings, environment)
    try:
        return await _tried(sandbox)
    finally:
        await sandbox.close()


async def _tried(sandbox: "Sandbox") -> str:
    try:
        return await sandbox.probe()
    except Exception as error:
        log.debug("The probe of the sandbox failed", exc_info=error)
        return f"The probe failed: {error or type(error).__name__}"  # never a reason not to start


def sandbox_of(settings: Settings, environment: Mapping[str, str]) -> "Sandbox":
    """Return the sandbox that the settings name, untested.

    Raises `ConfigError` if its key is missing.
    """
    if settings.code_sandbox == "bubblewrap":
        from antiphon.sandbox.bubblewrap import Bubblewrap  # noqa: PLC0415 - only for servers that run code

        return Bubblewrap(settings.code_python, cores=settings.code_cores_per_tenant)
    name = settings.code_e2b_key_env
    key = clean_key(environment, name) if name else ""
    if name and not key:
        raise ConfigError(
            f"The sandbox 'e2b' needs the key in {name}, which is not set. "
            "Set that variable, or name another one in code_e2b_key_env. "
            "For a service without keys, set code_e2b_key_env to an empty value."
        )
    e2b = require_module("antiphon.sandbox.e2b", "The sandbox 'e2b'")
    sandbox: Sandbox = e2b.E2B(settings.code_e2b_url, key, settings.code_e2b_template)
    return sandbox


def limits_of(settings: Settings) -> "CodeLimits":
    """Return the limits of calls and containers."""
    from antiphon.tools.code.tool import CodeLimits  # noqa: PLC0415 - for requests with code alone

    return CodeLimits(
        settings.code_timeout,
        settings.code_memory_max,
        settings.code_kernels_per_tenant,
        settings.code_running,
        settings.code_containers_per_tenant,
    )


class FileContent:
    """The content of files in the blob storage.

    See `Content`. `attachments` fetches files by URL.
    """

    def __init__(
        self, store: Store, files: "Files", attachments: "Lazy[Attachments] | None" = None
    ) -> None:
        self._store = store
        self._files = files
        self._attachments = attachments

    async def find(self, tenant: str, file_id: str) -> "StoredFile | None":
        """See `Content.find`."""
        return await self._files.find(tenant, file_id)

    def read(self, tenant: str, blob: str, size: int) -> AsyncGenerator[bytes, None]:
        """See `Content.read`."""
        return self._files.read_blob(tenant, blob, 0, size)

    async def write(self, tenant: str, content: AsyncIterable[bytes], most: int) -> "WrittenBlob":
        """See `Content.write`. The storage limit of the tenant applies too."""
        from antiphon.objects.file_limits import ContentRoom  # noqa: PLC0415 - for requests with code alone
        from antiphon.tools.code.content import TooLargeError, WrittenBlob  # noqa: PLC0415 - the same

        left = most
        if limit := self._files.limits.stored_bytes:
            left = min(most, limit - await self._store.read(sizes.stored_bytes, tenant))
        refusal = ClientError("The container has no room for the file.")
        room = ContentRoom(left, refusal, f"code of {tenant}", max(left, 0), refusal)
        try:
            written = await self._files.write(tenant, content, room)
        except ClientError as error:
            if error is refusal:
                raise TooLargeError from error
            raise
        return WrittenBlob(written.blob, written.size)

    async def drop(self, tenant: str, blob: str) -> None:
        """See `Content.drop`."""
        await self._files.drop(tenant, blob)

    @asynccontextmanager
    async def fetched(
        self, tenant: str, url: str, most: int
    ) -> AsyncGenerator["FetchedContent", None]:
        """See `Content.fetched`."""
        from antiphon.history.attachments import UnfetchedFileError  # noqa: PLC0415 - for files by URL alone
        from antiphon.sharing.memory import Account  # noqa: PLC0415 - the same
        from antiphon.tools.code.content import FetchedContent, UnfetchedError  # noqa: PLC0415 - the same

        if self._attachments is None or missing("files", "Files by URL", "input") is not None:
            raise UnfetchedError("this server fetches no files by URL.")
        attachments = self._attachments.get()
        memory = Account(attachments.memory, tenant)
        try:
            try:
                found = await attachments.fetch(url, most, tenant)
                await memory.obtain(len(found.content))
            except UnfetchedFileError as error:
                raise UnfetchedError(f"it could not be fetched: {error}.") from error
            except AntiphonError as error:
                raise UnfetchedError("this server has no capacity for it now.") from error
            yield FetchedContent(found.content, found.media_type)
        finally:
            memory.close()
