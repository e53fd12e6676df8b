"""The interface of a store: it performs operations, and has methods for what takes several transactions.

`storage/operations/` has the operations: what they promise is in their docstrings.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from antiphon.storage.operations.step import P, R, Read, Write
from antiphon.storage.records.containers import StoredContainer
from antiphon.storage.records.files import StoredFile
from antiphon.storage.records.responses import ChainExtent, ItemPage, PageQuery, StoredResponse
from antiphon.storage.records.tenants import Reply
from antiphon.storage.records.vector_stores import Ingestion

if TYPE_CHECKING:  # not loaded by a server that never searches
    from antiphon.storage.records.chunks import ChunkRow, IndexedFile

RETENTION = 30 * 86_400
"""Seconds after which facts expire by default."""


class Pulse(Protocol):
    """A worker's heartbeat over a separate connection. Used by one thread, which needs no event loop."""

    def beat(self) -> None:
        """Record that the worker is alive. Blocks for a few seconds at most. Raises `StoreError`."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class BlobStorage(Protocol):
    """Storage for the content of files: the store, a directory or a bucket. Every method raises `StoreError`."""

    @property
    def held(self) -> int:
        """Maximum number of bytes of memory that one `write` uses."""
        ...

    def new_name(self) -> str:
        """Return a name for a new blob. The name encodes the storage location."""
        ...

    async def write(self, blob: str, content: AsyncIterable[bytes], tenant: str) -> None:
        """Write a new blob, durable when this returns. Tenants take turns, so only a few MB are in memory at once."""
        ...

    def read(self, blob: str, start: int, end: int, tenant: str) -> AsyncGenerator[bytes, None]:
        """Yield the bytes from `start` up to but excluding `end`, in parts of at most 1 MiB."""
        ...

    async def delete(self, blob: str) -> None:
        """Delete the bytes of a blob, even if it was written only in part or not at all."""
        ...

    async def close(self) -> None:
        """Release all resources. The store that holds blobs is closed by its owner."""
        ...


class FileReader(Protocol):
    """The part of file storage that the engine uses: find files, read their content, delete unused content.

    Every method raises `StoreError`.
    """

    async def find(self, tenant: str, file_id: str) -> StoredFile | None:
        """Return a file of the tenant, or None if it is unknown or has expired."""
        ...

    def read(self, file: StoredFile, start: int = 0, end: int | None = None) -> AsyncGenerator[bytes, None]:
        """Yield the content from `start` up to but excluding `end`, in parts of at most 1 MiB."""
        ...

    def read_blob(self, tenant: str, blob: str, start: int, end: int) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a blob, like `read`."""
        ...

    async def delete_blobs(self, stale: Sequence[str]) -> None:
        """Delete the bytes of blobs that were claimed as stale, then their records."""
        ...


class Store(Protocol):
    """A durable store. Every method raises `StoreError` if the storage fails.

    Guarantees: when a method that writes returns, its changes are durable, and they are applied entirely or not at
    all. Reads see every completed write of this store. Many tasks of one event loop can call the methods concurrently,
    and several processes can open the same storage. No method reveals one tenant's data to another tenant.
    """

    url: str
    """The URL of the storage, as the operator wrote it, without user information."""

    observer: Callable[[Read[..., Any] | Write[..., Any], float, bool], None] | None
    """Receives each operation with the seconds that it took, and whether it failed."""

    def read(self, operation: Read[P, R], *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """Return the result of an operation that only reads, in one snapshot of the storage."""
        ...

    def write(self, operation: Write[P, R], *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """Return the result of an operation that writes, in one transaction. It may run more than once.

        It completes even if the caller is cancelled.
        """
        ...

    def pulse(self, worker: str) -> Pulse | None:
        """Return a heartbeat that needs neither the event loop nor its connections.

        Return None if all workers of the store run in this process: `heartbeat` is sufficient for them.
        """
        ...

    def on_change(self, listener: Callable[[str], None]) -> None:
        """Call a listener on the event loop soon after a response or its job has changed, with the response's id.

        The id is `JOBS` if a job waits to be claimed, and empty if it is unknown which response changed. A change can
        be announced more than once, and a change by another process may not be announced at all, so also poll.
        """
        ...

    async def save(self, response: StoredResponse, *, append: bool = False, reply: Reply | None = None) -> bool:
        """Store or replace a response that has ended. It is durable when this returns.

        If the response belongs to a conversation, this unlocks the conversation; with `append`, the response's items
        are first appended to the conversation. Return False, and store nothing, if the response no longer holds the
        lock. `reply` is stored for its `Idempotency-Key` in the same transaction.
        """
        ...

    async def input_page(self, tenant: str, response_id: str, query: PageQuery) -> ItemPage | None:
        """Return one page of a response's complete input: the history of its parent, then its own input.

        If the response ran in a conversation, the items that the conversation had at that time come first. Return None
        if the response is unknown. A chain without a head counts as empty. Reads little more than it returns, however
        long the list is.
        """
        ...

    async def measure_chain(self, tenant: str, response_id: str, most: int) -> ChainExtent:
        """Measure the chain that `history` would read, this response included, up to `most` responses.

        The length is 0 if this response is unknown. If an ancestor is unknown, only the responses below it are counted.
        A chain longer than `most` is not whole; its number of items and bytes is a lower bound. Every turn calls this,
        so a store should remember its measurements instead of walking up a growing chain each time.
        """
        ...

    async def clock_skew(self) -> float | None:
        """Return the seconds by which this process's clock is ahead of the store's clock, or None if not yet known.

        The store's clock decides what has expired: from now on, every method corrects this process's clock by the
        measured difference. Call this every few seconds, and do not purge while the clocks differ or the difference is
        unknown.
        """
        ...

    async def purge(self, retention: int = RETENTION, *, dry_run: bool = False) -> Mapping[str, int]:
        """Permanently delete expired data, in small steps; return the number of deleted rows of each table.

        Files are removed from expired vector stores, and expired files from all vector stores.
        Responses, chat completions and answers expire at their `expires_at`, facts and expired containers after
        `retention` seconds, keys after a day, failed deliveries after a month, sums of minutes after a week and of
        hours after 400 days.
        """
        ...

    async def trim_answers(self, limit: int) -> int:
        """Delete the least recently used answers until the rest uses at most `limit` bytes; return how many."""
        ...

    async def load_container(self, tenant: str, container_id: str, *, is_used: bool = False) -> StoredContainer | None:
        """Return the container, even if it has expired, or None. `is_used` counts as use if it has not expired."""
        ...

    async def expire_containers(self, limit: int) -> int:
        """Delete the files of expired containers and mark these containers; return their number."""
        ...

    async def write_chunks(self, ingestion: Ingestion, rows: "Sequence[ChunkRow]") -> bool:
        """Add some of a file's chunks, which searches do not see yet; return False if the version is outdated."""
        ...

    async def put_chunks(self, file: "IndexedFile", rows: "Sequence[ChunkRow]") -> bool:
        """Store some chunks of a version of a file, by ascending position. Searches see them once they are published.

        Rows that exist already are kept. Return False, and store nothing, if this version is already published or a
        newer version exists.
        """
        ...

    async def sweep_chunks(self) -> int:
        """Delete all dropped chunks; return their number."""
        ...

    async def put_blob_part(self, blob: str, number: int, data: bytes, *, is_last: bool) -> None:
        """Store one part of a blob. When the last part is stored, the whole blob is durable."""
        ...

    async def blob_part(self, blob: str, number: int) -> bytes | None:
        """Return one part of a blob, or None."""
        ...

    async def delete_blob_parts(self, blob: str) -> None:
        """Delete the bytes of a blob, a few parts at a time."""
        ...

    async def check(self) -> None:
        """Raise `StoreError` unless the storage responds."""
        ...

    async def check_writable(self) -> None:
        """Raise `StoreError` unless a write succeeds now and is durable. The written value is never read."""
        ...

    async def has_room(self) -> bool:
        """Return whether the disk of the storage has room, and keep space there for deletions, if the storage can.

        On a full disk, writes raise a `StoreError` with `is_disk_full`. If the space is kept, deletions, changes of API
        keys and `purge` succeed.
        """
        ...

    async def inspect(self) -> Mapping[str, int]:
        """Check all of the storage; return the number of rows of each table. Raises `StoreError` if it is damaged."""
        ...

    async def close(self) -> None:
        """Finish pending writes and release the storage.

        After that, every other method raises `StoreError`. Closing a closed store does nothing.
        """
        ...
