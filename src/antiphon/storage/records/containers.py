"""Containers of code and the files in them, as plain values."""

from typing import Literal

from msgspec import Struct

from antiphon.storage.records.pages import ListQuery

ContainerStatus = Literal["running", "expired"]


class StoredContainer(Struct, frozen=True):
    """One container: a name for files that outlive every kernel.

    Its kernel, if it has one, runs at one worker.
    """

    id: str
    tenant: str
    name: str
    created_at: int
    last_active_at: int
    idle_minutes: int
    """Minutes without use after which it expires. Its files are then deleted; its row stays
    readable.
    """
    memory_limit: str = "1g"
    network_policy: str = ""
    """The `network_policy` as JSON, or empty if the request had none."""
    status: ContainerStatus = "running"
    """Computed with the store's clock when the row is read."""
    is_auto: bool = False
    """Whether a tool with `container: auto` created it."""
    worker: str = ""
    """The worker that runs its newest kernel, or empty if no kernel was started."""
    calls: int = 0
    """Number of calls in the container. A kernel is up to date if it ran the newest call."""
    is_busy: bool = False
    """Whether a call holds the container."""


class FoundContainer(Struct, frozen=True):
    """A container that was looked up. If it is used and `is_use_due`, the use is recorded."""

    container: StoredContainer
    is_use_due: bool


class StoredContainerFile(Struct, frozen=True):
    """One file of a container."""

    id: str
    """`cfile_…`."""
    tenant: str
    container_id: str
    path: str
    """`/mnt/data/` and one path component. Unique in the container."""
    size: int
    blob: str
    """The name of the content in the blob storage."""
    source: Literal["user", "assistant"]
    created_at: int


class ContainerQuery(ListQuery, frozen=True):
    """Which containers, or which files of a container, to list: those with this name."""

    name: str | None = None


class ContainerQuota(Struct, frozen=True):
    """A tenant's limits: running containers, and the files and bytes of each container."""

    containers: int
    files: int
    size: int
