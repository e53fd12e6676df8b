"""Converts the bytes of a request to `/containers` into typed data, or into the one error that
describes the problem.
"""

from collections.abc import Mapping, Sequence

from antiphon.protocol.containers import (
    ContainerFilesQuery,
    ContainersQuery,
    CopyFile,
    CreateContainer,
)
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.queries import decode_query
from antiphon.protocol.validation.validate import decode_object, fit

Params = Mapping[str, Sequence[str]]

CONTAINER = "cntr"
"""The prefix of container ids."""


def decode_create_container(body: bytes) -> CreateContainer:
    """Return the body of `POST /containers`. Raises `ClientError` (400)."""
    request = fit(decode_object(body), CreateContainer)
    if request.skills:
        raise refusals.unsupported("skills")
    if request.network_policy is not None and request.network_policy.type != "disabled":
        raise refusals.unsupported_value(
            "network_policy.type", request.network_policy.type, ["disabled"]
        )
    return request


def decode_copy_file(body: bytes) -> CopyFile:
    """Return the body of `POST /containers/{id}/files` as JSON. Raises `ClientError` (400)."""
    return fit(decode_object(body), CopyFile)


def decode_containers_query(params: Params) -> ContainersQuery:
    """Return the query of `GET /containers`. Raises `ClientError` (400)."""
    return decode_query(params, ContainersQuery)


def decode_container_files_query(params: Params) -> ContainerFilesQuery:
    """Return the query of `GET /containers/{id}/files`. Raises `ClientError` (400)."""
    return decode_query(params, ContainerFilesQuery)
