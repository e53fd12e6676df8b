"""Operations on saved views of the console.

A view belongs to its `owner`: the id of an API key, or an empty text for the operator, who needs no
key. Views belong to no tenant, so no statement for a tenant sees one.
"""

from antiphon.protocol.saved_views import SavedView, SaveView
from antiphon.storage.operations.step import NOW, Operation, first, query_rows, reads, writes


@writes("save_view", is_of_all=True)
def save(owner: str, view_id: str, request: SaveView, most: int) -> Operation[SavedView | None]:
    """Store a view, or replace the one of this page with this name.

    Return None if the owner already has `most` other views.
    """
    place = (owner, request.page, request.name)
    yield from query_rows("lock_views_of", owner)
    ((count,),) = yield from query_rows("count_other_views", *place)
    if count >= most:
        return None
    row = yield from first("put_view", view_id, *place, request.query, (yield NOW))
    assert row is not None  # noqa: S101 - the statement returns the row that it writes
    return SavedView(*row)


@reads("saved_views", is_of_all=True)
def of_owner(owner: str) -> Operation[list[SavedView]]:
    """Return the views of an owner, by page and name."""
    return [SavedView(*row) for row in (yield from query_rows("views", owner))]


@writes("delete_view", is_of_all=True, frees=True)
def delete(owner: str, view_id: str) -> Operation[bool]:
    """Delete a view; return False if the owner has no view with this id."""
    return bool((yield from query_rows("delete_view", view_id, owner)))
