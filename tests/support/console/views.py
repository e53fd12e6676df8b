"""Saved views of the scripted server: kept in memory."""

from typing import Any

from aiohttp import web


class MockViews:
    """The views of the only reader."""

    def __init__(self) -> None:
        self.views: list[dict[str, Any]] = []

    def routes(self, root: str) -> list[web.RouteDef]:
        """Return the endpoints."""
        return [
            web.get(f"{root}/views", self._list),
            web.post(f"{root}/views", self._save),
            web.delete(f"{root}/views/{{id}}", self._delete),
        ]

    async def _list(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": self.views, "has_more": False})

    async def _save(self, request: web.Request) -> web.Response:
        return web.json_response(self.put(**(await request.json())))

    async def _delete(self, request: web.Request) -> web.Response:
        self.views = [one for one in self.views if one["id"] != request.match_info["id"]]
        return web.json_response({"deleted": True})

    def put(self, name: str, query: str, page: str = "responses") -> dict[str, Any]:
        """Save a view; return it."""
        others = [one for one in self.views if (one["name"], one["page"]) != (name, page)]
        view = {
            "object": "saved_view",
            "id": f"view_{name}",
            "name": name,
            "page": page,
            "query": query,
            "created_at": 1_795_842_240,
        }
        self.views = sorted([*others, view], key=lambda one: str(one["name"]))
        return view
