"""Containers of code and the files in them, as plain values."""

from dataclasses import dataclass
from typing import Literal

ContainerStatus = Literal["running", "expired"]


@dataclass(frozen=True, slots=True)
class StoredContainer:
    """One container: a name for files that outlive every kernel. Its kernel, if it has one, is in one worker."""

    id: str
    tenant: str
    name: str
    created_at: int
    last_active_at: int
    idle_minutes: int
    """Minutes after the last use at which it expires; then its files are deleted and its row stays readable."""
    memory_limit: str = "1g"
    network_policy: str = ""
    """The `network_policy` as JSON, empty where the request had none."""
    status: ContainerStatus = "running"
    """Computed by the store's clock when the row is read."""
    is_auto: bool = False
    """A tool with `container: auto` made it."""
    worker: str = ""
    """The worker with its newest kernel, empty where none was started."""
    calls: int = 0
    """Calls that were made in it. A kernel is up to date if it made the newest one."""
    is_busy: bool = False
    """A call holds it now."""


@dataclass(frozen=True, slots=True)
class StoredContainerFile:
    """One file of a container."""

    id: str
    """`cfile_…`."""
    tenant: str
    container_id: str
    path: str
    """`/mnt/data/` and one path component. Unique in its container."""
    size: int
    blob: str
    """Names the content in the blob storage."""
    source: Literal["user", "assistant"]
    created_at: int


@dataclass(frozen=True, slots=True)
class ContainerQuery:
    """Which containers, or files of one, to list: at most `limit`, in the order of creation."""

    limit: int
    after: str | None = None
    descending: bool = True
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ContainerPage:
    """A part of the list. `is_unknown` where `after` names none."""

    containers: tuple[StoredContainer, ...] = ()
    has_more: bool = False
    is_unknown: bool = False


@dataclass(frozen=True, slots=True)
class ContainerFilePage:
    """A part of a container's files. `is_unknown` where `after` names none."""

    files: tuple[StoredContainerFile, ...] = ()
    has_more: bool = False
    is_unknown: bool = False


@dataclass(frozen=True, slots=True)
class ContainerQuota:
    """How much a tenant may have: running containers; files and bytes of one container."""

    containers: int
    files: int
    size: int
