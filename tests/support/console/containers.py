"""Containers of the scripted server, kept in memory, and the items of a response that ran code and
made images.
"""

import time
from base64 import b64encode
from struct import pack
from typing import Any
from zlib import compress, crc32

from aiohttp import web

from tests.support.console.admin import listed

Json = dict[str, Any]
CONTAINER = "cntr_68cdc387531c81938b4bee78c36acb82"


def png(width: int = 320, height: int = 200, shade: int = 120) -> bytes:
    """Return an image in one shade of grey."""
    rows = b"".join(b"\0" + bytes([shade]) * width for _ in range(height))
    head = pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", compress(rows)), (b"IEND", b""))
    chunks = (
        pack(">I", len(data)) + name + data + pack(">I", crc32(name + data)) for name, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def base64_png(shade: int = 120) -> str:
    """Return an image as items have it."""
    return b64encode(png(shade=shade)).decode()


def container(number: int, name: str, **changes: Any) -> Json:
    """Return a container."""
    now = int(time.time())
    return {
        "id": f"cntr_{number}",
        "tenant": None,
        "name": name,
        "status": "running",
        "created_at": now - number * 700,
        "last_active_at": now - number * 60,
        "memory_limit": "1g",
        "worker": "gpu-host-1:4711",
        "calls": 3 * number,
        "is_busy": False,
        "files": 2,
        "bytes": 52_800,
    } | changes


def containers() -> list[Json]:
    """Return a container that is busy, one that is idle, one that expired, and one of another
    tenant.
    """
    return [
        container(1, "Analysis of the queue", id=CONTAINER, is_busy=True, files=3),
        container(2, "", memory_limit="4g"),
        container(3, "Yesterday", status="expired", worker="", files=0, bytes=0),
        container(4, "Reports of acme", tenant="acme"),
    ]


def container_files() -> list[Json]:
    """Return the files of a container."""
    now = int(time.time())
    names = (
        ("file-1-queue.csv", "user", 1_204),
        ("queue.png", "assistant", 48_300),
        ("Städte.csv", "assistant", 3_296),
    )
    return [
        {
            "id": f"cfile_{at}",
            "path": f"/mnt/data/{name}",
            "source": source,
            "bytes": size,
            "created_at": now - at * 9,
        }
        for at, (name, source, size) in enumerate(names, 1)
    ]


def code_call(**changes: Any) -> Json:
    """Return a call of the code interpreter with a text, a figure and a value."""
    figure = {"type": "image", "url": f"data:image/png;base64,{base64_png()}"}
    return {
        "type": "code_interpreter_call",
        "id": "ci_1",
        "status": "completed",
        "container_id": CONTAINER,
        "code": "import pandas as pd\n\nlengths = "
        "pd.read_csv('/mnt/data/queue.csv')\nlengths.plot()\nlengths.mean()",
        "outputs": [
            {"type": "logs", "logs": "12 rows\n"},
            figure,
            {"type": "logs", "logs": "length    4.25"},
        ],
    } | changes


def image_call(**changes: Any) -> Json:
    """Return a generated image."""
    return {
        "type": "image_generation_call",
        "id": "ig_1",
        "status": "completed",
        "result": base64_png(60),
        "revised_prompt": "A grey lighthouse in the fog, seen from the sea",
        "size": "1024x1024",
        "quality": "high",
        "background": "opaque",
        "output_format": "png",
    } | changes


def created() -> list[Json]:
    """Return the output of a response that ran code and commands, made an image, and cites files
    that code made.
    """
    text = "The mean is 4.25. [Download the chart](sandbox:/mnt/data/queue.png)"
    cite = {"type": "container_file_citation", "container_id": CONTAINER, "file_id": "cfile_2"}
    place = {"filename": "queue.png", "start_index": 39, "end_index": 66}
    environment = {"type": "container_reference", "container_id": CONTAINER}
    exits = [
        {"stdout": "queue.csv\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
        {
            "stdout": "",
            "stderr": "cat: no.csv: No such file or directory\n",
            "outcome": {"type": "exit", "exit_code": 1},
        },
    ]
    return [
        code_call(),
        {
            "type": "shell_call",
            "id": "sh_1",
            "call_id": "call_1",
            "status": "completed",
            "action": {"commands": ["ls /mnt/data", "cat no.csv"]},
            "environment": environment,
        },
        {
            "type": "shell_call_output",
            "id": "sho_1",
            "call_id": "call_1",
            "status": "completed",
            "output": exits,
        },
        image_call(),
        {
            "type": "message",
            "id": "msg_3",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": [cite | place]}],
        },
    ]


def making(response: Json) -> list[Json]:
    """Return the events of a streamed response whose output is one call of code and one image, but
    for its end.
    """
    code = code_call()
    image = image_call()
    events: list[Json] = [{"type": "response.created", "response": response | {"output": []}}]
    events.append(
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": code | {"status": "in_progress", "code": "", "outputs": []},
        }
    )
    events += [
        {
            "type": "response.code_interpreter_call_code.delta",
            "output_index": 0,
            "item_id": "ci_1",
            "delta": part,
        }
        for part in (code["code"][:20], code["code"][20:])
    ]
    events.append(
        {
            "type": "response.code_interpreter_call.interpreting",
            "output_index": 0,
            "item_id": "ci_1",
        }
    )
    events.append({"type": "response.output_item.done", "output_index": 0, "item": code})
    added = {"type": "image_generation_call", "id": "ig_1", "status": "in_progress"}
    events.append({"type": "response.output_item.added", "output_index": 1, "item": added})
    events.append(
        {"type": "response.image_generation_call.generating", "output_index": 1, "item_id": "ig_1"}
    )
    events += [
        {
            "type": "response.image_generation_call.partial_image",
            "output_index": 1,
            "item_id": "ig_1",
            "partial_image_index": at,
            "partial_image_b64": base64_png(shade),
            "size": image["size"],
            "quality": image["quality"],
            "background": image["background"],
            "output_format": "png",
        }
        for at, shade in enumerate((220, 140))
    ]
    return events


class MockContainers:
    """What the server has of containers, and what was killed."""

    def __init__(self) -> None:
        self.all, self.files = containers(), container_files()
        self.killed: list[str] = []
        """Paths and queries of requests that killed a container."""

    def routes(self, prefix: str) -> list[web.RouteDef]:
        """Return the routes."""
        admin = f"{prefix}/admin/v1/containers"
        v1 = f"{prefix}/v1/containers"
        return [
            web.get(admin, self._list),
            web.get(v1, self._list),
            web.get(f"{admin}/{{id}}", self._one),
            web.delete(f"{admin}/{{id}}", self._kill),
            web.get(f"{v1}/{{id}}/files/{{file}}/content", self._content),
            web.delete(f"{v1}/{{id}}/files/{{file}}", self._delete_file),
        ]

    async def _list(self, request: web.Request) -> web.Response:
        return web.json_response(listed(self.all))

    def _found(self, request: web.Request) -> Json:
        found = [one for one in self.all if one["id"] == request.match_info["id"]]
        if not found:
            text = '{"error": {"message": "No container found.", "code": null}}'
            raise web.HTTPNotFound(text=text, content_type="application/json")
        return found[0]

    async def _one(self, request: web.Request) -> web.Response:
        found = self._found(request)
        return web.json_response(
            found | {"files": self.files if found["status"] == "running" else []}
        )

    async def _kill(self, request: web.Request) -> web.Response:
        self.killed.append(request.path_qs)
        self.all.remove(self._found(request))
        return web.json_response(
            {"id": request.match_info["id"], "object": "container.deleted", "deleted": True}
        )

    async def _content(self, request: web.Request) -> web.Response:
        self._found(request)
        return web.Response(body=b"made by code", content_type="application/octet-stream")

    async def _delete_file(self, request: web.Request) -> web.Response:
        self.files = [one for one in self.files if one["id"] != request.match_info["file"]]
        return web.json_response({"deleted": True})
