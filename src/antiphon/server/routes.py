"""The paths that are served, with their endpoints, and the errors for what is not served."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from antiphon.errors import ClientError
from antiphon.server.reply import Endpoint, Resources
from antiphon.server.request import HttpRequest

PREFIX = "/v1"
"""Begins every path of the API."""


@dataclass(frozen=True, slots=True)
class Route:
    """One path, with its endpoints by method. `path_format` has the names of its parts in braces."""

    path_format: str
    methods: Mapping[str, Endpoint]


class Routes:
    """The routes of a server: paths without parts in one table, the others by pattern."""

    def __init__(self, found: Iterable[Resources]) -> None:
        self.fixed: dict[str, Route] = {}
        """Those of paths without parts, by their path."""
        self._patterns: list[tuple[re.Pattern[str], Route]] = []
        for each in found:
            for path, methods in each.items():
                self._add(path, methods)

    def match(self, request: HttpRequest) -> tuple[Route, Mapping[str, str]]:
        """Return the first pattern that fits a path, and the path's parts. Raises `ClientError` (404)."""
        for pattern, route in self._patterns:
            if matched := pattern.fullmatch(request.path):
                return route, matched.groupdict()
        raise unknown_url(request, lacks_prefix=self._has(f"{PREFIX}{request.path}"))

    def _has(self, path: str) -> bool:
        return path in self.fixed or any(pattern.fullmatch(path) for pattern, _ in self._patterns)

    def _add(self, path: str, methods: Mapping[str, Endpoint]) -> None:
        path_format = path.replace(":path}", "}")
        route = Route(path_format, methods)
        if "{" not in path:
            self.fixed[path] = route
            return
        pattern = re.sub(r"{(\w+):path}", r"(?P<\1>.*)", path)
        self._patterns.append((re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", pattern)), route))


def method_not_supported(http: HttpRequest, allowed: Any) -> ClientError:
    """Return the error for a method that a path does not have."""
    text = f"Not allowed to {http.method} on {http.scope['path'][:200]}."
    return ClientError(text, status=405, code="method_not_supported", headers={"allow": ", ".join(allowed)})


def unknown_url(http: HttpRequest, *, lacks_prefix: bool = False) -> ClientError:
    """Return the error for a path that is not served, also if only the prefix of the API is missing."""
    advice = f"The base URL of the API ends in {PREFIX}." if lacks_prefix else "Please check the URL for typos."
    text = f"Unknown request URL: {http.method} {http.scope['path'][:200]}. {advice}"
    return ClientError(text, status=404, code="unknown_url")


def upgrade_not_supported() -> ClientError:
    """Return the error for a WebSocket upgrade: Codex falls back to HTTP at 426 at once; 405 costs it five tries."""
    text = "WebSocket mode is not served here; use HTTP."
    return ClientError(text, status=426, code="upgrade_not_supported")
