"""Bodies and queries of `/v1/containers` (specification of hosted tools, section 6)."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from antiphon.protocol.items.content import ItemId
from antiphon.protocol.vector_stores import FileId

DATA = "/mnt/data"
"""The folder of a container with its persistent files."""

LONGEST_COMPONENT = 255
"""Longest filename in bytes, as in file systems."""

IDLE_MINUTES = 20
"""Minutes without use after which a container expires by default."""

MOST_FILES = 100
"""Highest number of files in a container."""

MOST_BYTES = 512 * 1024 * 1024
"""Highest size of these files in bytes."""

GIB = 1024**3

MemoryLimit = Literal["1g", "4g", "16g", "64g"]

MEMORY: Mapping[MemoryLimit, int] = {"1g": GIB, "4g": 4 * GIB, "16g": 16 * GIB, "64g": 64 * GIB}
"""Bytes of each `memory_limit`."""

ContainerName = Annotated[str, Meta(min_length=1, max_length=256)]


class ContainerExpiresAfter(Struct, kw_only=True, forbid_unknown_fields=True):
    """Minutes without use after which a container expires: at most a week."""

    anchor: Literal["last_active_at"]
    minutes: Annotated[int, Meta(ge=1, le=10_080)]


class NetworkPolicy(Struct, kw_only=True, forbid_unknown_fields=True):
    """The domains that code can reach.

    Containers have no network here, so an `allowlist` is rejected.
    """

    type: Literal["disabled", "allowlist"]
    allowed_domains: list[str] | None = None
    domain_secrets: list[dict[str, Any]] | None = None


class CreateContainer(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /containers`. `skills` are rejected."""

    name: ContainerName
    file_ids: Annotated[list[FileId], Meta(max_length=MOST_FILES)] | None = None
    expires_after: ContainerExpiresAfter | None = None
    memory_limit: MemoryLimit | None = None
    network_policy: NetworkPolicy | None = None
    skills: list[dict[str, Any]] | None = None


class CopyFile(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /containers/{id}/files` as JSON: a file that is copied into the
    container.
    """

    file_id: FileId


class ContainerFilesQuery(Struct, kw_only=True):
    """`GET /containers/{id}/files`: a page of at most `limit`, newest first by default; `after` is
    a file's id.
    """

    after: ItemId | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    order: Literal["asc", "desc"] = "desc"


class ContainersQuery(ContainerFilesQuery, kw_only=True):
    """`GET /containers`: the containers with this name."""

    name: Annotated[str, Meta(max_length=256)] | None = None


def path_in_container(prefix: str, filename: str) -> str:
    """Return the path of a file from a client: `/mnt/data/`, the prefix, a hyphen and the filename.

    A long name is truncated before its extension.
    """
    return _path_of(f"{prefix}-{filename.replace('/', '_')}")


def own_path_in_container(filename: str, suffix: str = "") -> str:
    """Return the path of a file under its own name, with a hyphen and the suffix before its
    extension if there is one.

    Characters that no path component can have, or that are not displayed as they are, become `_`.
    """
    name = "".join(
        one if one.isprintable() and one not in "/\\" else "_" for one in filename
    ).strip()
    name = _UNNAMED if name.strip(".") == "" else name
    return _path_of(name, f"-{suffix}" if suffix else "")


_UNNAMED = "file"


def _path_of(whole: str, mark: str = "") -> str:
    stem, dot, extension = whole.rpartition(".")
    extension = f"{dot}{extension}" if stem and len(extension.encode()) <= 32 else ""
    end = f"{mark}{extension}"
    room = LONGEST_COMPONENT - len(end.encode())
    return f"{DATA}/{whole.removesuffix(extension).encode()[:room].decode('utf-8', 'ignore')}{end}"
