"""The scripted server: the bundle with the headers of the real server, and `/admin/v1` by its
contract.
"""

import asyncio
import json
import mimetypes
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from antiphon.console.reports import Reports
from tests.support.console import admin, one
from tests.support.console.containers import MockContainers
from tests.support.console.figures import figures
from tests.support.console.files import MockFiles
from tests.support.console.finding import MockFinding
from tests.support.console.reports import known_reports, report_routes
from tests.support.console.rows import samples
from tests.support.console.views import MockViews

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

BUNDLE = Path(__file__).parents[3] / "src/antiphon/server/console/static"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; "
        "font-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
SESSION = {
    "object": "session",
    "role": "admin",
    "tenant": None,
    "key_id": "key_1",
    "key_name": "admin",
    "key_shown": "sk-antiphon-…Yx0w",
    "needs_key": True,
    "expires_at": 2_000_000_000,
    "version": "0.1.0",
    "currency": "USD",
    "has_prices": True,
    "retention_days": 30,
}
REQUEST_ID = "req_0a1b"
KEY, OTHER_KEY = "sk-antiphon-good", "sk-antiphon-other"
NEW_SECRET = "sk-antiphon-new-and-shown-once"


class MockServer:
    """What the server has, and what it received."""

    def __init__(self, *, is_signed_in: bool = True, prefix: str = "") -> None:
        self.prefix = prefix
        self.is_signed_in = is_signed_in
        self.rows = samples(int(time.time() * 1000))
        self.streams = 0
        """Live lists that were opened."""
        self.bodies: list[dict[str, Any]] = []
        """Bodies of `POST /v1/responses`."""
        self.queries: list[str] = []
        """The filter lines of lists."""
        self.live: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        """Events for the live list; `end` ends its stream."""
        self.is_down = False
        """Whether connections for the data of pages are closed without a reply."""
        self.answers = asyncio.Event()
        """Set while requests for the data of pages are answered."""
        self.answers.set()
        self.input = one.input_items()
        self.output = one.output()
        self.outputs: dict[str, list[dict[str, Any]]] = {}
        """Outputs of single responses, in place of `output`."""
        self.notes: list[dict[str, str]] | None = None
        """Notes of every response, in place of its own."""
        self.conversations = admin.conversations()
        self.known_keys = admin.keys()
        self.lessons = admin.lessons()
        self.deferred = admin.deferred()
        self.noted: list[str] = []
        """Paths of requests that changed something else."""
        self.script: list[dict[str, Any]] | None = None
        """Events of the next streamed response. The type `wait` waits for `go`, once for each,
        and `cut` ends the connection: browsers forget what they received then and have not read.
        """
        self.go = asyncio.Event()
        self.failures: list[tuple[int, str]] = []
        """Statuses and messages of the next requests for a response, which fail."""
        self.found: list[int | dict[str, Any] | list[dict[str, Any]]] = []
        """The next replies to a request for a stored response, of which the last one stays: a
        status, a response, or the events of a stream.
        """
        self.key_id = "key_1"
        """The key of the session."""
        self.files = MockFiles()
        self.containers = MockContainers()
        self.finding = MockFinding()
        self.views = MockViews()
        self.trouble: tuple[int, str, str] | None = None
        """The status, code and message of all replies with data, while the server has trouble."""
        self.reports: Reports | None = None
        """Reports of `antiphon verify`, while it is served."""

    def application(self) -> web.Application:
        """Return the application."""
        app = web.Application(middlewares=[self._perhaps], client_max_size=64_000_000)
        root = f"{self.prefix}/admin/v1"
        v1 = f"{self.prefix}/v1"
        app.add_routes(
            [
                web.get(f"{self.prefix}/console/assets/{{name}}", self.asset),
                web.get(f"{self.prefix}/console/{{path:.*}}", self.page),
                web.get(f"{root}/session", self.session),
                web.post(f"{root}/session", self.sign_in),
                web.delete(f"{root}/session", self.sign_out),
                web.get(f"{root}/responses", self.list_rows),
                web.get(f"{root}/responses/stream", self.stream),
                web.get(f"{root}/figures", self.figures),
                web.get(f"{root}/responses/{{id}}", self.details),
                web.get(f"{root}/responses/{{id}}/{{part}}", self.part),
                web.get(f"{v1}/models", self.models),
                web.post(f"{v1}/responses", self.create),
                web.get(f"{v1}/responses/{{id}}", self.stored),
                web.post(f"{v1}/responses/{{id}}/cancel", self.change),
                web.delete(f"{v1}/responses/{{id}}", self.change),
                web.get(f"{root}/backends", answer(admin.backends)),
                web.post(f"{root}/backends/{{name}}/check", self.check_backend),
                web.get(f"{root}/lessons", self.list_lessons),
                web.delete(f"{root}/lessons/{{id}}", self.drop_lesson),
                web.get(f"{root}/deferred_responses", self.list_deferred),
                web.post(f"{root}/deferred_responses/{{id}}/cancel", self.cancel_deferred),
                web.get(f"{root}/keys", self.keys),
                web.post(f"{root}/keys", self.create_key),
                web.post(f"{root}/keys/{{id}}/rotate", self.create_key),
                web.delete(f"{root}/keys/{{id}}", self.revoke_key),
                web.get(f"{root}/webhook_deliveries", answer(admin.deliveries)),
                web.post(f"{root}/webhook_deliveries/{{id}}/retry", self.note),
                web.get(f"{root}/conversations", answer(lambda: self.conversations)),
                web.get(f"{root}/conversations/{{id}}/items", self.conversation_items),
                web.delete(f"{v1}/conversations/{{id}}/items/{{item}}", self.note),
                web.get(
                    f"{v1}/webhook_endpoints", answer(lambda: admin.listed([admin.endpoint()]))
                ),
                web.post(f"{v1}/webhook_endpoints", self.create_endpoint),
                web.post(f"{v1}/webhook_endpoints/{{id}}/test", self.note),
                web.get(f"{v1}/usage", self.usage),
                *self.files.routes(self.prefix),
                *self.containers.routes(self.prefix),
                *self.finding.routes(root),
                *self.views.routes(root),
                *report_routes(root, self._known_reports),
            ]
        )
        return app

    @web.middleware
    async def _perhaps(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer later or never, or refuse, if a test says so."""
        path = request.path.removeprefix(self.prefix)
        if path == "/admin/v1/session" or not path.startswith(("/admin/v1/", "/v1/")):
            return await handler(request)
        await self.answers.wait()
        if self.is_down and request.transport is not None:
            request.transport.close()
        if not self.is_signed_in:
            return failure(401, "invalid_session", "Sign in to use the console.")
        return failure(*self.trouble) if self.trouble else await handler(request)

    def _known_reports(self) -> Reports:
        assert self.reports is not None
        return self.reports

    async def asset(self, request: web.Request) -> web.Response:
        """Return a file of the bundle, read at once: a thread would leave it open when the browser
        goes away.
        """
        path = BUNDLE / "assets" / request.match_info["name"]
        return web.Response(
            body=path.read_bytes(), content_type=mimetypes.guess_type(path)[0], headers=HEADERS
        )

    async def page(self, request: web.Request) -> web.Response:
        """Return the shell; the addresses of its assets are the same on every page."""
        text = (
            (BUNDLE / "index.html")
            .read_text()
            .replace('"./assets/', f'"{self.prefix}/console/assets/')
        )
        return web.Response(text=text, content_type="text/html", headers=HEADERS)

    def _refused(self, request: web.Request) -> web.Response | None:
        if not self.is_signed_in:
            return failure(401, "invalid_session", "Sign in to use the console.")
        if request.headers.get("antiphon-console") != "1":
            return failure(403, "not_allowed", "The header antiphon-console is missing.")
        return None

    async def session(self, request: web.Request) -> web.Response:
        return self._refused(request) or web.json_response(SESSION | {"key_id": self.key_id})

    async def sign_in(self, request: web.Request) -> web.Response:
        sent = await request.json()
        if sent.get("key", sent.get("code")) not in (KEY, OTHER_KEY):
            return failure(
                401,
                "invalid_api_key",
                "The API key is unknown. Ask the server's operator for a valid key.",
            )
        self.is_signed_in = True
        self.key_id = "key_2" if sent.get("key") == OTHER_KEY else "key_1"
        return web.json_response(SESSION | {"key_id": self.key_id})

    async def sign_out(self, request: web.Request) -> web.Response:
        self.is_signed_in = False
        return web.Response(status=204)

    async def list_rows(self, request: web.Request) -> web.Response:
        if refused := self._refused(request):
            return refused
        line = request.query.get("q", "")
        self.queries.append(line)
        if line.startswith("colour:"):
            return failure(
                400,
                "invalid_value",
                "Invalid 'q': unknown filter 'colour'. Filters: status, model, key.",
            )
        rows = [row for row in self.rows if matches(row, line)]
        return web.json_response(
            {"object": "list", "data": rows, "has_more": False, "first_id": None, "last_id": None}
        )

    async def stream(self, request: web.Request) -> web.StreamResponse:
        self.streams += 1
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"event: ping\ndata: {}\n\n")
        while request.transport is not None:
            event, data = await self.live.get()
            if event == "end":
                break
            await response.write(f"event: {event}\ndata: {json.dumps(data)}\n\n".encode())
        return response

    async def figures(self, request: web.Request) -> web.Response:
        since, until, step = (
            int(float(request.query[name])) for name in ("since", "until", "step")
        )
        by, series = request.query.get("by", ""), int(request.query.get("series", "0"))
        return web.json_response(figures(since, until, step, by, series))

    def _row(self, request: web.Request) -> dict[str, Any] | None:
        return next((row for row in self.rows if row["id"] == request.match_info["id"]), None)

    async def details(self, request: web.Request) -> web.Response:
        if refused := self._refused(request):
            return refused
        row = self._row(request)
        return (
            web.json_response(
                one.details(row) | ({} if self.notes is None else {"notes": self.notes})
            )
            if row
            else failure(404, "not_found", "This response does not exist.")
        )

    async def part(self, request: web.Request) -> web.Response:
        if request.match_info["part"] == "calls":
            return web.json_response(one.calls())
        row = self._row(request)
        if row is None:
            return failure(404, "not_found", "This response does not exist.")
        after = int(request.query.get("after", -1))
        parts = {
            "body": lambda: one.body(row) | {"output": self.outputs.get(row["id"], self.output)},
            "input_items": lambda: {"object": "list", "data": self.input, "has_more": False},
            "events": lambda: {
                "object": "list",
                "data": one.events()[after + 1 :],
                "has_more": False,
            },
            "request": lambda: one.request(row),
        }
        return web.json_response(parts[request.match_info["part"]]())

    async def conversation_items(self, request: web.Request) -> web.Response:
        """Return a page of the items: all input, then the output."""
        if refused := self._refused(request):
            return refused
        items = [*self.input, *self.output]
        ordered = items if request.query.get("order") == "asc" else items[::-1]
        ids = [item["id"] for item in ordered]
        after = request.query.get("after")
        rest = ordered[ids.index(after) + 1 if after else 0 :]
        data = rest[: int(request.query["limit"])]
        return web.json_response(
            {
                "object": "list",
                "data": data,
                "has_more": len(rest) > len(data),
                "tenant": "",
                "responses": {item["id"]: "resp_7e08" for item in data},
            }
        )

    async def models(self, request: web.Request) -> web.Response:
        names = ("fast", "qwen3-32b", "qwen3-coder", "deepseek-r1")
        return web.json_response(
            {
                "object": "list",
                "data": [{"id": name, "object": "model", "owned_by": "gpu-b"} for name in names],
            }
        )

    async def create(self, request: web.Request) -> web.StreamResponse:
        if refused := self._refused(request):
            return refused
        sent = await request.json()
        self.bodies.append(sent)
        if self.failures:
            status, message = self.failures.pop(0)
            return failure(status, "invalid_value", message)
        output = self.output
        completed = {
            "id": "resp_play",
            "object": "response",
            "status": "completed",
            "model": sent.get("model", "fast"),
            "output": output,
            "usage": {
                "input_tokens": 4873,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 138,
                "output_tokens_details": {"reasoning_tokens": 24},
                "total_tokens": 5011,
            },
            "error": None,
        }
        if not sent.get("stream"):
            return web.json_response(completed)
        return await self.send_events(request, self.script or streamed(completed))

    async def send_events(
        self, request: web.Request, events: list[dict[str, Any]], first: int = 0
    ) -> web.StreamResponse:
        """Stream events; `first` is the number of the first one."""
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "x-request-id": REQUEST_ID}
        )
        await response.prepare(request)
        number = first
        for event in events:
            if event["type"] == "wait":
                await self.go.wait()
                self.go.clear()
            elif event["type"] == "cut" and request.transport is not None:
                request.transport.close()
                break
            else:
                text = json.dumps(event | {"sequence_number": number})
                await response.write(f"event: {event['type']}\ndata: {text}\n\n".encode())
                number += 1
        return response

    async def stored(self, request: web.Request) -> web.StreamResponse:
        """Return a stored response, or the rest of its stream."""
        self.noted.append(request.path_qs)
        found = 404 if not self.found else self.found[0]
        if len(self.found) > 1:
            self.found.pop(0)
        if isinstance(found, int):
            return failure(found, "not_found", "This response does not exist.")
        if isinstance(found, list):
            after = int(request.query["starting_after"])
            return await self.send_events(request, found[after + 1 :], after + 1)
        return web.json_response(found)

    async def change(self, request: web.Request) -> web.Response:
        row = self._row(request)
        if row is None:
            return failure(404, "not_found", "This response does not exist.")
        if request.method == "DELETE":
            self.rows.remove(row)
        else:
            row["status"] = "cancelled"
        return web.json_response({"id": row["id"], "object": "response"})

    async def check_backend(self, request: web.Request) -> web.Response:
        self.noted.append(f"{request.method} {request.path}")
        return web.json_response(admin.backend(request.match_info["name"], object="backend"))

    async def list_lessons(self, request: web.Request) -> web.Response:
        return web.json_response(admin.listed(self.lessons))

    async def drop_lesson(self, request: web.Request) -> web.Response:
        dropped = request.match_info["id"]
        self.lessons = [one for one in self.lessons if one["id"] != dropped]
        return web.json_response({"object": "lesson", "id": dropped, "deleted": True})

    async def list_deferred(self, request: web.Request) -> web.Response:
        return web.json_response(admin.listed(self.deferred))

    async def cancel_deferred(self, request: web.Request) -> web.Response:
        ended = request.match_info["id"]
        self.noted.append(f"{request.method} {request.path_qs}")
        self.deferred = [one for one in self.deferred if one["id"] != ended]
        return web.json_response({"id": ended, "object": "response", "status": "cancelled"})

    async def keys(self, request: web.Request) -> web.Response:
        return web.json_response(admin.listed(self.known_keys))

    async def create_key(self, request: web.Request) -> web.Response:
        sent = await request.json()
        self.bodies.append(sent)
        created = admin.key(sent.get("name", "rotated"), role=sent.get("role", "use"))
        self.known_keys = [created, *(one for one in self.known_keys if one["id"] != created["id"])]
        return web.json_response(created | {"key": NEW_SECRET})

    async def revoke_key(self, request: web.Request) -> web.Response:
        revoked = next(one for one in self.known_keys if one["id"] == request.match_info["id"])
        revoked["status"] = "revoked"
        return web.json_response(revoked)

    async def create_endpoint(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.json())
        return web.json_response(admin.endpoint() | {"signing_secret": NEW_SECRET})

    async def usage(self, request: web.Request) -> web.Response:
        return web.json_response(admin.usage(time.time()))

    async def note(self, request: web.Request) -> web.Response:
        self.noted.append(f"{request.method} {request.path}")
        return web.json_response({"status_code": 200})


def answer(make: Callable[[], dict[str, Any]]) -> Callable[[web.Request], Awaitable[web.Response]]:
    """Return a handler that returns what a function makes."""

    async def handle(request: web.Request) -> web.Response:
        return web.json_response(make())

    return handle


def streamed(response: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events of a response, with its texts in two deltas each."""
    start = response | {"status": "in_progress", "output": []}
    events: list[dict[str, Any]] = [
        {"type": f"response.{name}", "response": start} for name in ("created", "in_progress")
    ]
    for at, item in enumerate(response["output"]):
        empty = item | ({"content": []} if "content" in item else {})
        if "status" in item:
            empty["status"] = "in_progress"
        events.append({"type": "response.output_item.added", "output_index": at, "item": empty})
        for index, part in enumerate(item.get("content") or ()):
            kind = "reasoning_text" if item["type"] == "reasoning" else "output_text"
            place = {"output_index": at, "content_index": index, "item_id": item["id"]}
            events.append(
                {"type": "response.content_part.added", "part": part | {"text": ""}} | place
            )
            half = len(part["text"]) // 2
            events += [
                {"type": f"response.{kind}.delta", "delta": text} | place
                for text in (part["text"][:half], part["text"][half:])
            ]
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    return [*events, {"type": "response.completed", "response": response}]


def matches(row: dict[str, Any], line: str) -> bool:
    """Whether a row has every word of a line, and is as its filters `status`, `backend`, `tool`,
    `since` and `until` say.
    """
    return all(_matches(row, part) for part in line.split())


def _matches(row: dict[str, Any], part: str) -> bool:
    name, _, value = part.partition(":")
    if name == "status":
        return row["status"] in value.split(",")
    if name == "backend":
        return row["backend"] in value.replace('"', "").split(",")
    if name == "tool":
        return not set(row["tools"]).isdisjoint(value.split(","))
    if name == "sort":
        return True
    if name in ("since", "until"):
        began = row["created_at"]
        time = _seconds(value)
        return began >= time if name == "since" else began < time
    return part in str(row)


def _seconds(time: str) -> float:
    """Return a time of a filter: how long ago, or a time, in UTC without an offset."""
    unit = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}.get(time[-1])
    if unit is not None:
        return datetime.now(UTC).timestamp() - unit * int(time[:-1])
    found = datetime.fromisoformat(time)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def failure(status: int, code: str, message: str) -> web.Response:
    """Return an error in the API's envelope."""
    error = {"message": message, "type": "invalid_request_error", "code": code, "param": None}
    return web.json_response({"error": error}, status=status, headers={"x-request-id": REQUEST_ID})


@asynccontextmanager
async def serving_console(server: MockServer) -> AsyncIterator[str]:
    """Serve it; yield the URL of the console."""
    async with known_reports() as server.reports, TestServer(server.application()) as running:
        yield str(running.make_url(f"{server.prefix}/console/"))
