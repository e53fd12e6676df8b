"""The description of the console and its API in `/openapi.json`."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from antiphon.protocol.console import (
    AdminResponsesQuery,
    ChangeKey,
    ConversationsQuery,
    CreateKey,
    DeliveriesQuery,
    EventsQuery,
    FiguresParameters,
    ListContainersQuery,
    ListFilesQuery,
    ListStoresQuery,
    MatrixQuery,
    RotateKey,
    SaveReport,
    SignIn,
    TenantQuery,
)


class Described(NamedTuple):
    """One endpoint: its method, its path, what it does, and the types of its body and its query."""

    method: str
    path: str
    summary: str
    body: type[Struct] | None = None
    query: type[Struct] | None = None
    file: str = ""
    """The field of a form with a file, which can replace the JSON body."""
    is_content: bool = False
    """The reply is the content of a file."""
    takes_key: bool = False
    """Whether it accepts an `Idempotency-Key`."""


CONSOLE: Sequence[Described] = (
    Described("get", "/console", "Redirects to the page of the console"),
    Described("get", "/console/", "The page of the console"),
    Described("get", "/console/assets/{name}", "A file of the page"),
    Described("get", "/console/{path}", "The page of the console"),
    Described("post", "/admin/v1/session", "Sign in to the console", SignIn),
    Described("get", "/admin/v1/session", "Describe the session"),
    Described("delete", "/admin/v1/session", "Sign out"),
    Described("get", "/admin/v1/responses", "List responses", query=AdminResponsesQuery),
    Described(
        "get",
        "/admin/v1/responses/stream",
        "Follow responses as they change",
        query=AdminResponsesQuery,
    ),
    Described(
        "get", "/admin/v1/responses/{response_id}", "Get a response's timeline, notes and chain"
    ),
    Described("get", "/admin/v1/responses/{response_id}/body", "Get a stored response"),
    Described(
        "get", "/admin/v1/responses/{response_id}/input_items", "List a response's own input items"
    ),
    Described(
        "get", "/admin/v1/responses/{response_id}/events", "List stored events", query=EventsQuery
    ),
    Described(
        "get",
        "/admin/v1/responses/{response_id}/request",
        "Get the client's request, reconstructed",
    ),
    Described(
        "get",
        "/admin/v1/responses/{response_id}/calls",
        "List the requests to the backend, reconstructed",
    ),
    Described("get", "/admin/v1/figures", "Get figures of responses", query=FiguresParameters),
    Described("get", "/admin/v1/keys", "List API keys", query=TenantQuery),
    Described("post", "/admin/v1/keys", "Create an API key", CreateKey),
    Described("post", "/admin/v1/keys/{key_id}", "Change an API key", ChangeKey),
    Described("delete", "/admin/v1/keys/{key_id}", "Revoke an API key"),
    Described("post", "/admin/v1/keys/{key_id}/rotate", "Replace an API key", RotateKey),
    Described(
        "get", "/admin/v1/webhook_deliveries", "List webhook deliveries", query=DeliveriesQuery
    ),
    Described(
        "post", "/admin/v1/webhook_deliveries/{delivery_id}/retry", "Retry a webhook delivery"
    ),
    Described("get", "/admin/v1/conversations", "List conversations", query=ConversationsQuery),
    Described("get", "/admin/v1/files", "List files", query=ListFilesQuery),
    Described("get", "/admin/v1/vector_stores", "List vector stores", query=ListStoresQuery),
    Described(
        "get", "/admin/v1/vector_stores/{vector_store_id}", "Get a vector store", query=TenantQuery
    ),
    Described(
        "get",
        "/admin/v1/vector_stores/{vector_store_id}/files",
        "List files with their names",
        query=ListStoresQuery,
    ),
    Described("get", "/admin/v1/containers", "List containers", query=ListContainersQuery),
    Described(
        "get",
        "/admin/v1/containers/{container_id}",
        "Get a container with its files",
        query=TenantQuery,
    ),
    Described(
        "delete", "/admin/v1/containers/{container_id}", "Kill a container", query=TenantQuery
    ),
    Described("get", "/admin/v1/reports", "List reports of antiphon verify"),
    Described("post", "/admin/v1/reports", "Store a report of antiphon verify", SaveReport),
    Described("get", "/admin/v1/reports/matrix", "Compare reports side by side", query=MatrixQuery),
    Described(
        "get",
        "/admin/v1/reports/{report_id}",
        "Get a report, with the changes since the previous one",
    ),
    Described("delete", "/admin/v1/reports/{report_id}", "Delete a report"),
    Described("get", "/admin/v1/backends", "Get the state of the backends"),
)
"""Every endpoint of the console."""
