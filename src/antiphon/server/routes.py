"""The paths that are served, with their endpoints, and the errors for what is not served."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from antiphon.errors import ClientError
from antiphon.server.reply import Endpoint, Resources
from antiphon.server.request import MESSAGES, HttpRequest

PREFIX = "/v1"
"""The prefix of every path of the API."""

BASE_URL = f"The base URL of the API ends in {PREFIX}."
"""Advice for a client with another base URL."""


MESSAGES_URL = f"The base URL of a client of the Messages API does not end in {PREFIX}."
"""The same for a client of the Messages API, which adds the prefix itself."""

Later = Mapping[str, Callable[[], Iterable[Resources]]]
"""Routes that are loaded by the first request for one of them, by the prefix of their paths."""

NONE: Later = {}


@dataclass(frozen=True, slots=True)
class PathRoute:
    """One path, with its endpoints by method.

    `path_format` has the names of its parts in braces.
    """

    path_format: str
    methods: Mapping[str, Endpoint]


class Routes:
    """The routes of a server: paths without parameters in one table, the others by pattern."""

    def __init__(self, found: Iterable[Resources], later: Later = NONE) -> None:
        self.fixed: dict[str, PathRoute] = {}
        """Routes of paths without parameters, by path."""
        self._patterns: list[tuple[re.Pattern[str], PathRoute]] = []
        self._later = dict(later)
        for each in found:
            self._add_all(each)

    def match(self, request: HttpRequest) -> tuple[PathRoute, Mapping[str, str]]:
        """Return the first pattern that matches a path, and the path's parameters.

        Raises `ClientError` (404).
        """
        for pattern, route in self._patterns:
            if matched := pattern.fullmatch(request.path):
                return route, matched.groupdict()
        if self._load(request.path):
            found = self.fixed.get(request.path)
            return (found, {}) if found else self.match(request)
        raise unknown_url(request, has_wrong_base=self.has_wrong_base(request.path))

    def has_wrong_base(self, path: str) -> bool:
        """Whether a client's base URL lacks the prefix, or repeats a path as in
        `/v1/responses/responses`.
        """
        *_, first, last = "", *path.rsplit("/", 2)
        server = (f"{PREFIX}{end}" for end in (path, f"/{first}/{last}", f"/{last}"))
        return any(one != path and self._has(one) for one in server)

    def _load(self, path: str) -> bool:
        """Load the routes that a path can be among; return whether there were any."""
        for prefix, load in self._later.items():
            if path.startswith(prefix):
                for each in load():
                    self._add_all(each)
                del self._later[prefix]
                return True
        return False

    def _has(self, path: str) -> bool:
        if path.startswith(PREFIX):
            self._load(path)
        return path in self.fixed or any(pattern.fullmatch(path) for pattern, _ in self._patterns)

    def _add_all(self, found: Resources) -> None:
        for path, methods in found.items():
            self._add(path, methods)

    def _add(self, path: str, methods: Mapping[str, Endpoint]) -> None:
        path_format = path.replace(":path}", "}")
        route = PathRoute(path_format, methods)
        if "{" not in path:
            self.fixed[path] = route
            return
        pattern = re.sub(r"{(\w+):path}", r"(?P<\1>.*)", path)
        self._patterns.append((re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", pattern)), route))


def method_not_supported(
    http: HttpRequest, allowed: Any, *, has_wrong_base: bool = False
) -> ClientError:
    """Return the error for a method that a path does not have."""
    advice = f" {BASE_URL}" if has_wrong_base else ""
    text = f"Not allowed to {http.method} on {http.scope['path'][:200]}.{advice}"
    methods = [*allowed, "HEAD"] if "GET" in allowed else allowed
    return ClientError(
        text, status=405, code="method_not_supported", headers={"allow": ", ".join(methods)}
    )


def unknown_url(http: HttpRequest, *, has_wrong_base: bool = False) -> ClientError:
    """Return the error for a path that is not served, also if only the client's base URL is
    wrong.
    """
    advice = BASE_URL if has_wrong_base else "Please check the URL for typos."
    if has_wrong_base and http.path.startswith(f"{PREFIX}{MESSAGES}"):
        advice = MESSAGES_URL
    text = f"Unknown request URL: {http.method} {http.scope['path'][:200]}. {advice}"
    return ClientError(text, status=404, code="unknown_url")


def upgrade_not_supported() -> ClientError:
    """Return the error for a WebSocket upgrade: Codex falls back to HTTP at 426 at once; 405 costs
    it five attempts.
    """
    text = "WebSocket mode is not served here; use HTTP."
    return ClientError(text, status=426, code="upgrade_not_supported")
