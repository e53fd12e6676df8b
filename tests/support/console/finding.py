"""What IDs lead to, and suggestions, in the scripted server."""

from typing import Any

from aiohttp import web

VALUES = {
    "status": (("failed", 33), ("completed", 1200), ("incomplete", 9), ("queued", None)),
    "model": (("fast", 640), ("qwen3-coder", 402), ("qwen3-32b", 180)),
    "tenant": (("acme", 1284),),
    "sort": (("newest", None), ("slowest", None)),
}
"""Values of filters, with the number of responses that have them."""


class MockFinding:
    """Objects by the IDs that lead to them."""

    def __init__(self) -> None:
        self.objects: dict[str, list[dict[str, Any]]] = {}
        self.created_ms: int | None = None
        self.searched_since_ms: int | None = None
        self.terms: list[str] = []
        """What was to be completed."""

    def put(self, searched: str, kind: str, id_: str, part: str | None = None) -> None:
        """Have an ID lead to an object."""
        found = {"kind": kind, "id": id_, "tenant": "acme", "part": part}
        self.objects.setdefault(searched, []).append(found)

    def routes(self, root: str) -> list[web.RouteDef]:
        """Return the endpoints."""
        return [web.get(f"{root}/find", self.find), web.get(f"{root}/suggestions", self.suggest)]

    async def find(self, request: web.Request) -> web.Response:
        """Answer a request."""
        return web.json_response(self.found(request.query["id"]))

    async def suggest(self, request: web.Request) -> web.Response:
        """Answer a request."""
        self.terms.append(request.query.get("q", ""))
        return web.json_response(suggestions(self.terms[-1]))

    def found(self, id_: str) -> dict[str, Any]:
        """Return what an ID leads to."""
        return {
            "object": "found",
            "data": self.objects.get(id_, []),
            "created_ms": self.created_ms,
            "searched_since_ms": self.searched_since_ms,
        }


def suggestions(term: str) -> dict[str, Any]:
    """Return what completes a term."""
    sign = "-" if term.startswith("-") else ""
    name, colon, value = term.removeprefix("-").partition(":")
    found = (
        [(f"{name}:{each}", count) for each, count in VALUES.get(name, ()) if value in each]
        if colon
        else [(f"{each}:", None) for each in VALUES if each.startswith(name)]
    )
    data = [{"text": sign + text, "count": count} for text, count in found]
    return {"object": "list", "data": data}
