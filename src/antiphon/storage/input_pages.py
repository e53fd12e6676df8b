"""Pages of a response's complete input."""

from antiphon.storage.operations import pages
from antiphon.storage.records.pages import Page
from antiphon.storage.records.responses import PageQuery, StoredItem
from antiphon.storage.store import Store

LONGEST = 1_000_000
"""Maximum number of responses of a chain that are counted, because a cycle has no end."""


async def input_page(
    store: Store, tenant: str, response_id: str, query: PageQuery
) -> Page[StoredItem] | None:
    """Return one page of a response's complete input: the history of its parent, then its own
    input.

    If the response ran in a conversation, the items that the conversation had at that time come
    first. Return None if the response is unknown. A chain without a head counts as empty. Reads
    little more than it returns, however long the list is. Raises `StoreError`.
    """
    head = await store.read(pages.head, tenant, response_id)
    if head is None:
        return None
    length = 0
    parent = head.previous_response_id
    if parent is not None:
        extent = await store.measure_chain(tenant, parent, LONGEST)
        length = extent.length if extent.is_whole else 0
    return await store.read(pages.input_page, tenant, head, query, length)
