"""A service of E2B's protocol on this machine. Code runs in a process of the test's user: it
isolates nothing.
"""

import asyncio
import base64
import json
import os
import signal
import struct
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from antiphon.sandbox.contract import DATA
from tests.support.web_app import serving_app

KEY = "e2b_0123"
OPTIONS: Any = {"start_new_session": True, "limit": 2**24}
HEAD = struct.Struct(">BI")
KERNEL = r"""
import ast, contextlib, io, json, sys, traceback
space, out = {"__name__": "__main__"}, sys.stdout
for line in sys.stdin:
    printed, events = io.StringIO(), []
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            tree = ast.parse(json.loads(line))
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "<cell>", "exec"), space)
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), space) if last else None
            if value is not None:
                events.append({"type": "result", "text": repr(value), "is_main_result": True})
        except Exception as error:
            text = "\x1b[31m" + traceback.format_exc() + "\x1b[0m"
            events.append({"type": "error", "name": type(error).__name__, "value": str(error), "traceback": text})
    first = {"type": "stdout", "text": printed.getvalue(), "timestamp": 1}
    out.write(json.dumps([{"type": "number_of_executions", "execution_count": 1}, first, *events]) + "\n")
    out.flush()
"""  # noqa: E501 - the lines of a text


@dataclass(slots=True)
class Box:
    """One sandbox."""

    folder: Path
    token: str
    kernel: asyncio.subprocess.Process | None = None
    processes: dict[int, asyncio.subprocess.Process] = field(default_factory=dict)

    def path(self, name: str) -> Path:
        return self.folder / name.removeprefix(DATA).lstrip("/")


class FakeE2B:
    """The service. `lines` are what every execution answers with, in place of running the code."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.url = ""
        self.boxes: dict[str, Box] = {}
        self.lines: list[bytes] | None = None
        self.created: list[dict[str, Any]] = []

    @asynccontextmanager
    async def serve(self) -> AsyncIterator["FakeE2B"]:
        application = web.Application(client_max_size=2**30)
        application.router.add_post("/sandboxes", self._create)
        application.router.add_delete("/sandboxes/{id}", self._delete)
        application.router.add_post("/sandboxes/{id}/timeout", self._prolong)
        application.router.add_post("/contexts", self._context)
        application.router.add_delete("/contexts/{id}", self._end)
        application.router.add_post("/execute", self._execute)
        application.router.add_get("/files", self._download)
        application.router.add_post("/files", self._upload)
        application.router.add_post("/filesystem.Filesystem/ListDir", self._list)
        application.router.add_post("/process.Process/Start", self._start)
        application.router.add_post("/process.Process/SendSignal", self._signal)
        async with serving_app(application) as self.url:
            try:
                yield self
            finally:
                await asyncio.gather(*(self._stop(box) for box in self.boxes.values()))

    async def _create(self, request: web.Request) -> web.Response:
        if request.headers.get("X-API-Key") != KEY:
            return web.json_response({"code": 401, "message": "Invalid API key"}, status=401)
        body = await request.json()
        self.created.append(body)
        name = f"box{len(self.created)}"
        self.boxes[name] = Box(self._folder / name, f"token-{name}")
        created = {
            "sandboxID": name,
            "clientID": "c",
            "templateID": body["templateID"],
            "envdVersion": "0.2.0",
        }
        return web.json_response({**created, "envdAccessToken": self.boxes[name].token}, status=201)

    async def _delete(self, request: web.Request) -> web.Response:
        box = self.boxes.pop(request.match_info["id"], None)
        if box is None:
            return web.json_response({"code": 404, "message": "not found"}, status=404)
        await self._stop(box)
        return web.Response(status=204)

    async def _prolong(self, request: web.Request) -> web.Response:
        return web.Response(status=204 if request.match_info["id"] in self.boxes else 404)

    async def _stop(self, box: Box) -> None:
        for process in (*box.processes.values(), *filter(None, [box.kernel])):
            await _end(process)

    def _box(self, request: web.Request, port: str) -> Box:
        box = self.boxes.get(request.headers["E2b-Sandbox-Id"])
        if box is None:
            raise web.HTTPBadGateway(text="The sandbox was not found")
        if (
            request.headers["E2b-Sandbox-Port"] != port
            or request.headers["X-Access-Token"] != box.token
        ):
            raise web.HTTPUnauthorized(text="unauthorized access token")
        return box

    async def _context(self, request: web.Request) -> web.Response:
        box = self._box(request, "49999")
        assert (await request.json())["cwd"] == DATA
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, "-I", "-c", KERNEL)
        box.kernel = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, **OPTIONS, cwd=box.folder
        )
        return web.json_response({"id": "context-1", "language": "python", "cwd": DATA})

    async def _end(self, request: web.Request) -> web.Response:
        box = self._box(request, "49999")
        if box.kernel is not None:
            await _end(box.kernel)
        return web.Response(status=204)

    async def _execute(self, request: web.Request) -> web.StreamResponse:
        box = self._box(request, "49999")
        body = await request.json()
        response = web.StreamResponse()
        await response.prepare(request)
        for line in self.lines or await self._lines(box, body["code"]):
            await response.write(line)
        return response

    async def _lines(self, box: Box, code: str) -> list[bytes]:
        assert (
            box.kernel is not None
            and box.kernel.stdin is not None
            and box.kernel.stdout is not None
        )
        box.kernel.stdin.write(json.dumps(code).encode() + b"\n")
        line = await box.kernel.stdout.readuntil()
        return [json.dumps(event).encode() + b"\n" for event in json.loads(line)]

    async def _upload(self, request: web.Request) -> web.Response:
        box = self._box(request, "49983")
        part = await (await request.multipart()).next()
        assert part is not None and part.name == "file"
        box.path(request.query["path"]).write_bytes(await part.read())
        return web.json_response(
            [{"name": part.filename, "type": "file", "path": request.query["path"]}]
        )

    async def _download(self, request: web.Request) -> web.Response:
        path = self._box(request, "49983").path(request.query["path"])
        if not path.is_file():
            return web.json_response(
                {"code": 404, "message": f"path '{path.name}' does not exist"}, status=404
            )
        return web.Response(body=path.read_bytes())

    async def _list(self, request: web.Request) -> web.Response:
        box = self._box(request, "49983")
        kinds = {True: "FILE_TYPE_FILE", False: "FILE_TYPE_DIRECTORY"}
        entries = [
            {
                "name": path.name,
                "type": kinds[path.is_file()],
                "path": f"{DATA}/{path.name}",
                "size": str(path.lstat().st_size),
                "modifiedTime": str(path.lstat().st_mtime_ns),
                **({"symlinkTarget": str(path.readlink())} if path.is_symlink() else {}),
            }
            for path in box.folder.iterdir()
        ]
        return web.json_response({"entries": entries})

    async def _start(self, request: web.Request) -> web.StreamResponse:
        box = self._box(request, "49983")
        frame = await request.read()
        assert HEAD.unpack_from(frame) == (0, len(frame) - HEAD.size)
        process = json.loads(frame[HEAD.size :])["process"]
        box.folder.mkdir(exist_ok=True)
        command = (process["cmd"], *process["args"])
        if process["cwd"] == "/":  # it makes the directory
            command = ("true",)
        pipe = asyncio.subprocess.PIPE
        run = await asyncio.create_subprocess_exec(
            *command, stdout=pipe, stderr=pipe, **OPTIONS, cwd=box.folder
        )
        box.processes[run.pid] = run
        response = web.StreamResponse(headers={"Content-Type": "application/connect+json"})
        await response.prepare(request)
        await response.write(_framed({"event": {"start": {"pid": run.pid}}}))
        await asyncio.gather(
            _piped(response, "stdout", run.stdout), _piped(response, "stderr", run.stderr)
        )
        code = await run.wait()
        end = {
            "exited": True,
            "status": f"exit status {code}",
            **({"exitCode": code} if code else {}),
        }
        await response.write(_framed({"event": {"end": end}}))
        await response.write(_framed({}, flags=2))
        return response

    async def _signal(self, request: web.Request) -> web.Response:
        box = self._box(request, "49983")
        body = await request.json()
        await _end(box.processes[body["process"]["pid"]])
        return web.json_response({})


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    process._transport.close()  # type: ignore[attr-defined] - else its pipes stay open for those that nobody reads


async def _piped(
    response: web.StreamResponse, name: str, stream: asyncio.StreamReader | None
) -> None:
    assert stream is not None
    while part := await stream.read(4096):
        await response.write(_framed({"event": {"data": {name: base64.b64encode(part).decode()}}}))


def _framed(message: Any, flags: int = 0) -> bytes:
    body = json.dumps(message).encode()
    return HEAD.pack(flags, len(body)) + body
