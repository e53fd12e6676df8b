"""A relay before a backend, for gateways that need more or less than the backend has: `python -m
bench.peers.relay`.

`--embeddings` adds `/v1/embeddings` and a model `embed`: bags of hashed words, 64 numbers. `--drop
a,b` removes these parameters, and `stop` from Responses requests: a gateway of model servers sends
parameters that only those have.
"""

import argparse
import asyncio
import base64
import hashlib
import json
import math
import re
import struct
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
from aiohttp import web

SIZE = 64
OWN = {
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "accept-encoding",
    "content-encoding",
}
"""Headers of one connection, which are not relayed."""

SESSION = web.AppKey("session", aiohttp.ClientSession)


def embedded(text: str) -> list[float]:
    """Return the vector of a text, of length 1."""
    counts = [0.0] * SIZE
    for word in re.findall(r"\w+", text.lower()):
        counts[int(hashlib.sha256(word.encode()).hexdigest(), 16) % SIZE] += 1
    length = math.hypot(*counts) or 1.0
    return [one / length for one in counts]


def without(content: bytes, names: set[str]) -> bytes:
    """Return a body without these parameters; one that is no JSON object as it is."""
    try:
        body = json.loads(content)
    except ValueError:
        return content
    if not isinstance(body, dict) or names.isdisjoint(body):
        return content
    return json.dumps({name: value for name, value in body.items() if name not in names}).encode()


class Relay:
    """The handlers, and what they need: the backend, and the parameters that it must not
    receive.
    """

    def __init__(self, backend: str, dropped: set[str]) -> None:
        self.backend = backend.rstrip("/")
        self.dropped = dropped

    async def embeddings(self, request: web.Request) -> web.Response:
        """Embed texts."""
        body = await request.json()
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        vectors: list[Any] = [embedded(str(text)) for text in texts]
        if body.get("encoding_format") == "base64":
            vectors = [base64.b64encode(struct.pack(f"{SIZE}f", *one)).decode() for one in vectors]
        data = [
            {"object": "embedding", "index": place, "embedding": one}
            for place, one in enumerate(vectors)
        ]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        return web.json_response(
            {"object": "list", "model": body["model"], "data": data, "usage": usage}
        )

    async def models(self, request: web.Request) -> web.Response:
        """List the backend's models and `embed`."""
        async with request.app[SESSION].get(f"{self.backend}/v1/models") as answer:
            listed = await answer.json()
        listed["data"].append({"id": "embed", "object": "model", "created": 0, "owned_by": "relay"})
        return web.json_response(listed)

    async def relay(self, request: web.Request) -> web.StreamResponse:
        """Pass a request on, and its response back as it comes."""
        stop = {"stop"} if self.dropped and request.path.endswith("/responses") else set()
        content = without(await request.read(), self.dropped | stop)
        url = f"{self.backend}{request.rel_url.raw_path_qs}"
        headers = stored(request.headers)
        sent = request.app[SESSION].request(
            request.method, url, data=content, headers=headers, allow_redirects=False
        )
        async with sent as answer:
            out = web.StreamResponse(status=answer.status, headers=stored(answer.headers))
            await out.prepare(request)
            async for piece in answer.content.iter_any():
                await out.write(piece)
            await out.write_eof()
            return out


def stored(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that are relayed."""
    return {name: value for name, value in headers.items() if name.lower() not in OWN}


async def session(app: web.Application) -> AsyncIterator[None]:
    """Keep the connections to the backend while the relay runs."""
    limits = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), timeout=limits
    ) as client:
        app[SESSION] = client
        yield


async def main() -> None:
    """Serve until the process ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("backend", help="the URL of the backend, without /v1")
    parser.add_argument("--embeddings", action="store_true")
    parser.add_argument("--drop", default="")
    options = parser.parse_args()
    relay = Relay(options.backend, set(filter(None, options.drop.split(","))))
    app = web.Application(client_max_size=2**30)
    app.cleanup_ctx.append(session)
    if options.embeddings:
        app.router.add_post("/v1/embeddings", relay.embeddings)
        app.router.add_get("/v1/models", relay.models)
    app.router.add_route("*", "/{path:.*}", relay.relay)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", options.port).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
