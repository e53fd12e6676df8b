"""The parameters of files, vector stores, containers, prompts, embeddings and images, as keyword
arguments.

The rules are those of the types in `protocol/`; a test compares the names.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required

from antiphon.library.forms import FileInput
from antiphon.library.parameters import CallOptions
from antiphon.protocol.files import Purpose

Attributes = Mapping[str, str | float | bool]
Order = Literal["asc", "desc"]


class NewFile(CallOptions, total=False):
    """Parameters of `files.create`, besides the file. `expires_after` is an anchor and seconds."""

    purpose: Required[Purpose]
    expires_after: Mapping[str, Any]


class FilePageParameters(CallOptions, total=False):
    """Parameters of `files.list`: a page of at most `limit` files (1 to 10,000) after a file."""

    after: str | None
    limit: int | None
    order: Order | None
    purpose: str | None


class NewVectorStore(CallOptions, total=False):
    """Parameters of `vector_stores.create`. `expires_after` is an anchor and days."""

    name: str | None
    description: str | None
    file_ids: Sequence[str] | None
    chunking_strategy: Mapping[str, Any] | None
    expires_after: Mapping[str, Any] | None
    metadata: Mapping[str, str] | None


class VectorStoreChange(CallOptions, total=False):
    """Parameters of `vector_stores.update`: an absent one stays unchanged, None removes it."""

    name: str | None
    expires_after: Mapping[str, Any] | None
    metadata: Mapping[str, str] | None


class StorePageParameters(CallOptions, total=False):
    """Parameters of `vector_stores.list`: a page of at most `limit` (1 to 100), between two ids."""

    after: str | None
    before: str | None
    limit: int | None
    order: Order | None


class StoreFilePageParameters(StorePageParameters, total=False):
    """Parameters of the lists of a vector store's files: those with the status `filter`."""

    filter: Literal["in_progress", "completed", "failed", "cancelled"] | None


class SearchParameters(CallOptions, total=False):
    """Parameters of `vector_stores.search`."""

    query: Required[str | Sequence[str]]
    filters: Mapping[str, Any] | None
    max_num_results: int
    ranking_options: Mapping[str, Any] | None
    rewrite_query: bool


class AttachedFileOptions(CallOptions, total=False):
    """Parameters of a file in a vector store."""

    attributes: Attributes | None
    chunking_strategy: Mapping[str, Any] | None


class NewStoreFile(AttachedFileOptions, total=False):
    """Parameters of `vector_stores.files.create`."""

    file_id: Required[str]


class NewBatch(AttachedFileOptions, total=False):
    """Parameters of `vector_stores.file_batches.create`: `file_ids` with their common fields, or
    `files`.
    """

    file_ids: Sequence[str] | None
    files: Sequence[Mapping[str, Any]] | None


class NewContainer(CallOptions, total=False):
    """Parameters of `containers.create`. `expires_after` is an anchor and minutes."""

    name: Required[str]
    file_ids: Sequence[str] | None
    expires_after: Mapping[str, Any] | None
    memory_limit: Literal["1g", "4g", "16g", "64g"] | None
    network_policy: Mapping[str, Any] | None
    skills: Sequence[Mapping[str, Any]] | None


class ContainerFilePageParameters(CallOptions, total=False):
    """Parameters of `containers.files.list`: a page of at most `limit` (1 to 100) after a file."""

    after: str | None
    limit: int | None
    order: Order | None


class ContainerPageParameters(ContainerFilePageParameters, total=False):
    """Parameters of `containers.list`: the containers with this name."""

    name: str | None


class PromptParameters(CallOptions, total=False):
    """Parameters of `prompts.create`: a template of requests, with placeholders such as
    `{{name}}`.
    """

    name: str | None
    instructions: str | None
    messages: Sequence[Mapping[str, Any]] | None
    model: str | None
    defaults: Mapping[str, Any] | None


class PromptVersionParameters(PromptParameters, total=False):
    """Parameters of `prompts.create_version`.

    The new version is the default one, unless `set_as_default` is False.
    """

    set_as_default: bool


class PromptPageParameters(CallOptions, total=False):
    """Parameters of the lists of prompts and of their versions: a page of at most `limit` (1 to
    100).
    """

    after: str | None
    limit: int | None
    order: Order | None


class EmbeddingParameters(CallOptions, total=False):
    """Parameters of `embeddings.create`.

    `extra_body` holds parameters that only the backend has.
    """

    input: Required[str | Sequence[str] | Sequence[int] | Sequence[Sequence[int]]]
    model: Required[str]
    dimensions: int
    encoding_format: Literal["float", "base64"]
    user: str
    extra_body: Mapping[str, Any] | None


class ImageParameters(CallOptions, total=False):
    """What new and edited images have in common.

    `extra_body` holds parameters that only the backend has.
    """

    prompt: Required[str]
    model: str | None
    background: str | None
    complexity: str | None
    frame_count: int | None
    frame_duration_ms: int | None
    n: int | None
    output_compression: int | None
    output_format: str | None
    partial_images: int | None
    quality: str | None
    response_format: Literal["url", "b64_json"] | None
    safety_identifier: str
    size: str | None
    svg: Mapping[str, Any] | None
    user: str
    extra_body: Mapping[str, Any] | None


class NewImageParameters(ImageParameters, total=False):
    """Parameters of `images.generate`."""

    moderation: str | None
    style: str | None


class ImageEditParameters(ImageParameters, total=False):
    """Parameters of `images.edit`, besides the image: the mask of what to change, and drawn
    markup.
    """

    mask: FileInput
    markup: FileInput
    input_fidelity: str | None
