"""The API's objects for containers and their files, the limits of containers, and their errors."""

from dataclasses import dataclass, field

import msgspec

from antiphon.errors import ClientError
from antiphon.objects.pages import JsonObject
from antiphon.protocol.containers import GIB
from antiphon.storage.records.containers import ContainerQuota, StoredContainer, StoredContainerFile


@dataclass(frozen=True, slots=True)
class ContainerLimits:
    """The limits of each tenant."""

    quota: ContainerQuota = field(
        default_factory=lambda: ContainerQuota(1000, 100, 512 * 1024 * 1024)
    )
    memory: int = 4 * GIB
    """The largest `memory_limit` of a container in bytes."""


def container_object(container: StoredContainer) -> JsonObject:
    """Return a container as an API object."""
    displayed: JsonObject = {
        "id": container.id,
        "object": "container",
        "created_at": container.created_at,
        "status": container.status,
        "name": container.name,
        "expires_after": {"anchor": "last_active_at", "minutes": container.idle_minutes},
        "last_active_at": container.last_active_at,
        "memory_limit": container.memory_limit,
    }
    if container.network_policy:
        displayed["network_policy"] = msgspec.json.decode(container.network_policy)
    return displayed


def container_file_object(file: StoredContainerFile) -> JsonObject:
    """Return a file of a container as an API object."""
    return {
        "id": file.id,
        "object": "container.file",
        "created_at": file.created_at,
        "bytes": file.size,
        "container_id": file.container_id,
        "path": file.path,
        "source": file.source,
    }


def container_not_found() -> ClientError:
    """Return the error for an unknown container."""
    return ClientError("Container not found.", status=404)


def container_expired() -> ClientError:
    """Return the error for an expired container."""
    return ClientError("Container is expired.")


def no_such_file(container_id: str, file_id: str) -> ClientError:
    """Return the error for a file that its container does not have."""
    text = f"No file found with id '{file_id[:100]}' in container '{container_id[:100]}'."
    return ClientError(text, status=404, param="file_id")


def container_full(quota: ContainerQuota) -> ClientError:
    """Return the error for files that do not fit into their container."""
    return ClientError(
        f"The container has no room for this: it can hold at most {quota.files} files "
        f"with {quota.size} bytes in total. Delete files that you no longer need, "
        "or use another container.",
        code="container_full",
    )


def too_many_containers(quota: ContainerQuota) -> ClientError:
    """Return the error for a tenant that has reached its limit of running containers."""
    return ClientError(
        f"You exceeded your quota of containers: {quota.containers} can exist at once. "
        "Delete containers that you no longer need, or wait until one expires.",
        status=429,
        type="insufficient_quota",
        code="container_quota_exceeded",
        headers={"x-should-retry": "false"},
    )


def unknown_after(after: str | None, what: str) -> ClientError:
    """Return the error for an `after` that is not in the list."""
    return ClientError(
        f"Invalid 'after': no {what} with id '{after}'.", code="invalid_value", param="after"
    )
