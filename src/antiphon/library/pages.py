"""Lists that a program iterates: models, and objects page by page. Iterating a list gives those of
all its pages.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from typing import Any, Generic, Protocol, TypeVar

from antiphon.library.background_loop import LoopOwner
from antiphon.protocol.results import Model, ModelList

T = TypeVar("T")


class Listed(Protocol[T]):
    """A page as the API sends it: `ItemPage`, `ListPage`."""

    data: list[T]
    first_id: str | None
    last_id: str | None
    has_more: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the page as plain data."""
        ...

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the page as JSON."""
        ...


Fetch = Callable[[str | None], Coroutine[Any, Any, Listed[T]]]
"""Returns the page after a cursor, such as the id of an object; without one, the first page of the
request.
"""


def last_id(page: Listed[Any]) -> str | None:
    """Return the cursor of most lists: the id of the last object."""
    return page.last_id


class Page(Generic[T]):
    """A page of objects: `data`, `first_id`, `last_id`, `has_more`."""

    _page: Listed[T]

    @property
    def data(self) -> list[T]:
        """The objects of this page."""
        return self._page.data

    @property
    def first_id(self) -> str | None:
        """The id of its first object; None if it is empty."""
        return self._page.first_id

    @property
    def last_id(self) -> str | None:
        """The id of its last object; None if it is empty."""
        return self._page.last_id

    @property
    def has_more(self) -> bool:
        """Whether another page follows."""
        return self._page.has_more

    def to_dict(self) -> dict[str, Any]:
        """Return the page as plain data, as the API sends it."""
        return self._page.to_dict()

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the page as JSON, on one line unless `indent` is the number of spaces for each
        level.
        """
        return self._page.to_json(indent=indent)


class AsyncPage(Page[T]):
    """A page of objects. Iterating it with `async for` continues with the pages after it."""

    def __init__(self, page: Listed[T], pages: "AsyncPages[T]") -> None:
        self._page = page
        self._pages = pages

    async def __aiter__(self) -> AsyncIterator[T]:
        page = self._page
        while True:
            for one in page.data:
                yield one
            if not page.has_more:
                return
            page = await self._pages.fetch(self._pages.cursor(page))


class AsyncPages(Generic[T]):
    """A list of objects: `await` it for its first page, or iterate it with `async for` for those of
    all pages.
    """

    def __init__(
        self, fetch: Fetch[T], cursor: Callable[[Listed[Any]], str | None] = last_id
    ) -> None:
        self.fetch = fetch
        """Returns a page."""
        self.cursor = cursor
        """Returns the cursor of the page after a page."""

    def __await__(self) -> Generator[Any, None, AsyncPage[T]]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[T]:
        async for one in await self._first():
            yield one

    async def _first(self) -> AsyncPage[T]:
        return AsyncPage(await self.fetch(None), self)


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


class Pages(Page[T]):
    """A page of objects. Iterating it continues with the pages after it."""

    def __init__(self, pages: AsyncPages[T], owner: LoopOwner) -> None:
        self._pages = pages
        self._owner = owner
        self._page = owner.run(pages.fetch(None))

    def __iter__(self) -> Iterator[T]:
        page = self._page
        while True:
            yield from page.data
            if not page.has_more:
                return
            page = self._owner.run(self._pages.fetch(self._pages.cursor(page)))
