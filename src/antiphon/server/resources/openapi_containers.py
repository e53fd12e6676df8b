"""The description of containers in `/openapi.json`."""

from collections.abc import Sequence

from antiphon.protocol.containers import (
    ContainerFilesQuery,
    ContainersQuery,
    CopyFile,
    CreateContainer,
)
from antiphon.server.resources.openapi_console import Described

ONE = "/v1/containers/{container_id}"
FILE = f"{ONE}/files/{{file_id}}"

CONTAINERS: Sequence[Described] = (
    Described("post", "/v1/containers", "Create a container", CreateContainer, takes_key=True),
    Described("get", "/v1/containers", "List containers", query=ContainersQuery),
    Described("get", ONE, "Get a container"),
    Described("delete", ONE, "Delete a container with its files"),
    Described(
        "post",
        f"{ONE}/files",
        "Upload a file, or copy one by its ID",
        CopyFile,
        file="file",
        takes_key=True,
    ),
    Described("get", f"{ONE}/files", "List its files", query=ContainerFilesQuery),
    Described("get", FILE, "Get a file of a container"),
    Described("delete", FILE, "Delete a file of a container"),
    Described(
        "get", f"{FILE}/content", "Get the content of a file of a container", is_content=True
    ),
)
"""Every endpoint of containers."""
