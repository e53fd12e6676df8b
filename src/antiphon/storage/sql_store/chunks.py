"""Writing and deleting chunks in parts. The operations are loaded when a store is first used for chunks."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from antiphon.storage.sql_store.performer import Performer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from antiphon.storage.operations.chunk_parts import Termed
    from antiphon.storage.operations.step import Operation
    from antiphon.storage.records.chunks import (
        ChunkRow,
        IndexedFile,
    )
    from antiphon.storage.sql_store.terms import TermThread

SWEPT_AT_ONCE = 64
"""Chunks that a sweep reads at once. They are deleted in parts, so that saves can run in between."""


def _operations() -> ModuleType:
    return import_module("antiphon.storage.operations.chunks")


class SqlChunks(Performer):
    """The methods of a store for chunks."""

    _term_thread: TermThread | None = None

    @property
    def _terms(self) -> TermThread:
        if self._term_thread is None:
            from antiphon.storage.sql_store.terms import TermThread  # noqa: PLC0415 - only if chunks are written

            self._term_thread = TermThread()
        return self._term_thread

    def _close_terms(self) -> None:
        if self._term_thread is not None:
            self._term_thread.close()

    async def _put_parts(
        self, rows: Sequence[ChunkRow], put: Callable[[Sequence[Termed[ChunkRow]]], Operation[bool]], tenant: str
    ) -> bool:
        """Put chunks in several transactions, so that other writes run in between; return False if one of them does."""
        from antiphon.storage.records.chunks import size_of  # noqa: PLC0415 - as above

        if not rows:
            return await self._write(partial(put, ()), tenant)
        sized = ((row, row.text, size_of(row)) for row in rows)
        async for part in self._terms.parts(sized):
            if not await self._write(partial(put, part), tenant):
                return False
            await self._tidy_words()
        return True

    async def _tidy_words(self) -> None:
        """Do what the keyword index of the database needs after a change, in transactions of its own."""

    async def put_chunks(self, file: IndexedFile, rows: Sequence[ChunkRow]) -> bool:
        """See `Store.put_chunks`."""
        return await self._put_parts(rows, lambda part: _operations().put(file, part), file.tenant)

    async def sweep_chunks(self) -> int:
        """See `Store.sweep_chunks`."""
        removed = 0
        while dropped := await self._free(lambda: _operations().dropped(SWEPT_AT_ONCE)):
            texts = [(number, text, 0) for number, text in dropped.chunks]
            async for part in self._terms.parts(texts):
                removed += await self._free(partial(_operations().sweep, dropped, part))
                await self._tidy_words()
            if dropped.is_end:
                await self._free(partial(_operations().forget, dropped))
        return removed
