"""Lists that a program iterates: models, and items page by page. Iterating a list gives the items of all its pages."""

from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from typing import Any

from antiphon.library.background_loop import LoopOwner
from antiphon.protocol.response import OutputItem
from antiphon.protocol.results import ItemPage, Model, ModelList

Fetch = Callable[[str | None], Coroutine[Any, Any, ItemPage]]
"""Returns the page after the item of this id; without an id, the first page of the request."""


class Page:
    """A page of items: `data`, `first_id`, `last_id`, `has_more`."""

    _page: ItemPage

    @property
    def data(self) -> list[OutputItem]:
        """The items of this page."""
        return self._page.data

    @property
    def first_id(self) -> str | None:
        """The id of its first item; None if it is empty."""
        return self._page.first_id

    @property
    def last_id(self) -> str | None:
        """The id of its last item; None if it is empty."""
        return self._page.last_id

    @property
    def has_more(self) -> bool:
        """Whether another page follows."""
        return self._page.has_more

    def to_dict(self) -> dict[str, Any]:
        """Return the page as plain data, as the API sends it."""
        return self._page.to_dict()

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the page as JSON, on one line unless `indent` is the number of spaces for each level."""
        return self._page.to_json(indent=indent)


class AsyncItemPage(Page):
    """A page of items. Iterating it with `async for` continues with the pages after it."""

    def __init__(self, page: ItemPage, fetch: Fetch) -> None:
        self._page, self._fetch = page, fetch

    async def __aiter__(self) -> AsyncIterator[OutputItem]:
        page = self._page
        while True:
            for item in page.data:
                yield item
            if not page.has_more:
                return
            page = await self._fetch(page.last_id)


class AsyncItemPages:
    """A list of items: `await` it for its first page, or iterate it with `async for` for the items of all pages."""

    def __init__(self, fetch: Fetch) -> None:
        self.fetch = fetch
        """Returns a page."""

    def __await__(self) -> Generator[Any, None, AsyncItemPage]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[OutputItem]:
        async for item in await self._first():
            yield item

    async def _first(self) -> AsyncItemPage:
        return AsyncItemPage(await self.fetch(None), self.fetch)


class AsyncModelList:
    """The models of all backends: `await` it for a `ModelList`, or iterate it with `async for`."""

    def __init__(self, fetch: Callable[[], Coroutine[Any, Any, ModelList]]) -> None:
        self.fetch = fetch
        """Returns the list."""

    def __await__(self) -> Generator[Any, None, ModelList]:
        return self.fetch().__await__()

    async def __aiter__(self) -> AsyncIterator[Model]:
        for model in await self.fetch():
            yield model


class ItemPages(Page):
    """A page of items. Iterating it continues with the pages after it."""

    def __init__(self, fetch: Fetch, owner: LoopOwner) -> None:
        self._fetch, self._owner = fetch, owner
        self._page = owner.run(fetch(None))

    def __iter__(self) -> Iterator[OutputItem]:
        page = self._page
        while True:
            yield from page.data
            if not page.has_more:
                return
            page = self._owner.run(self._fetch(page.last_id))
