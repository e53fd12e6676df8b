"""Results of the API other than responses: conversations, pages of items, counts, confirmations."""

from collections.abc import Iterator
from typing import Any, Generic, Literal, TypeVar

from msgspec import field

from antiphon.protocol.objects import ApiObject
from antiphon.protocol.response import OutputItems, Response, Usage

T = TypeVar("T")


class DeletedResponse(ApiObject, kw_only=True):
    """The response was deleted."""

    id: str
    object: Literal["response"] = "response"
    deleted: bool = True


class ParsedResponse(Response, Generic[T], kw_only=True):
    """A response of `responses.parse`.

    As plain data it is the response, without `output_parsed`.
    """

    output_parsed: T | None = None
    """The parsed object of the answer; None if the response is not complete, or has no text."""

    def to_dict(self) -> dict[str, Any]:
        """Return the response as plain data, as the API sends it."""
        return Response(
            **{name: getattr(self, name) for name in Response.__struct_fields__}
        ).to_dict()


class CompactedResponse(ApiObject, kw_only=True):
    """A compacted context: `output` is the next request's input.

    Times are whole seconds since the epoch.
    """

    id: str
    object: Literal["response.compaction"] = "response.compaction"
    created_at: int
    output: OutputItems = field(default_factory=list)
    usage: Usage | None = None


class InputTokenCount(ApiObject, kw_only=True):
    """The token count of an input.

    `is_exact` is False for an estimate; over HTTP a header says so.
    """

    object: Literal["response.input_tokens"] = "response.input_tokens"
    input_tokens: int
    is_exact: bool = False


class Conversation(ApiObject, kw_only=True):
    """A conversation. Times are whole seconds since the epoch."""

    id: str
    object: Literal["conversation"] = "conversation"
    created_at: int
    metadata: dict[str, str] = field(default_factory=dict)


class DeletedConversation(ApiObject, kw_only=True):
    """The conversation and its items were deleted."""

    id: str
    object: Literal["conversation.deleted"] = "conversation.deleted"
    deleted: bool = True


class Model(ApiObject, kw_only=True):
    """A model that a request can name.

    `created` is in whole seconds since the epoch, 0 if the backend does not say.
    """

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = ""


class ModelList(ApiObject, kw_only=True):
    """The models of all backends, each once; iterating it gives those of `data`."""

    object: Literal["list"] = "list"
    data: list[Model] = field(default_factory=list)

    def __iter__(self) -> Iterator[Model]:
        return iter(self.data)


class ItemPage(ApiObject, kw_only=True):
    """A page of items, in the order of the request."""

    object: Literal["list"] = "list"
    data: OutputItems = field(default_factory=list)
    first_id: str | None = None
    last_id: str | None = None
    has_more: bool = False
