"""Saved views: filters of a page of the console that a caller stores under a name."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

LINE = r"^[^\x00-\x1f\x7f]*$(?!\n)"
"""One line of text, without control characters."""

Page = Literal["responses", "conversations", "usage"]
"""The pages of the console that have filters."""

ViewName = Annotated[str, Meta(min_length=1, max_length=80, pattern=LINE, title="a name")]
ViewQuery = Annotated[str, Meta(max_length=10_000, pattern=LINE, title="the query of an address")]


class SaveView(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /admin/v1/views`. It replaces the view of this page with the same name."""

    name: ViewName
    page: Page
    query: ViewQuery
    """The query of the page's address, such as `q=status%3Afailed`."""


class SavedView(Struct, frozen=True):
    """A view as the API shows it, and as it is stored. `created_at` is in seconds."""

    id: str
    name: str
    page: str
    query: str
    created_at: int
    object: Literal["saved_view"] = "saved_view"
