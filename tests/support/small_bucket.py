"""A small S3 on loopback: objects, ranges, uploads in parts and deletion. It checks no
signatures.
"""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from tests.support.web_app import serving_app

XML = '<?xml version="1.0" encoding="UTF-8"?>'


@dataclass
class SmallBucket:
    """What was stored. With `is_broken`, every request is refused with 403."""

    url: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    signed_by: set[str] = field(default_factory=set)
    largest_part: int = 0
    is_broken: bool = False

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """One request, path-style: `/bucket/key`."""
        body = await request.read()
        self.signed_by.update(
            re.findall(r"Credential=(\w+)/", request.headers.get("authorization", ""))
        )
        if self.is_broken:
            return web.Response(status=403, text=f"{XML}<Error><Code>AccessDenied</Code></Error>")
        key = request.match_info["key"]
        query = request.query
        if request.method == "POST" and "uploads" in request.query_string:
            name = f"upload-{len(self.uploads)}"
            self.uploads[name] = {}
            reported = f"<UploadId>{name}</UploadId><Bucket>b</Bucket><Key>{key}</Key>"
            return _xml(
                f"<InitiateMultipartUploadResult>{reported}</InitiateMultipartUploadResult>"
            )
        if request.method == "POST" and "delete" in query:
            keys = re.findall(r"<Key>(.*?)</Key>", body.decode())
            for one in keys:
                self.objects.pop(one, None)
            reported = "".join(f"<Deleted><Key>{one}</Key></Deleted>" for one in keys)
            return _xml(f"<DeleteResult>{reported}</DeleteResult>")
        if "uploadId" in query:
            return self._part(request.method, key, query, body)
        if request.method == "PUT":
            self.objects[key] = body
            return web.Response(headers={"etag": '"1"'})
        if request.method == "DELETE":
            self.objects.pop(key, None)
            return web.Response(status=204)
        return self._get(key, request.headers.get("range", ""))

    def _part(self, method: str, key: str, query: Mapping[str, str], body: bytes) -> web.Response:
        values = dict(query)
        parts = self.uploads[values["uploadId"]]
        if method == "PUT":
            parts[int(values["partNumber"])] = body
            self.largest_part = max(self.largest_part, len(body))
            return web.Response(headers={"etag": f'"{values["partNumber"]}"'})
        del self.uploads[values["uploadId"]]
        if method == "DELETE":
            return web.Response(status=204)
        numbers = [int(one) for one in re.findall(r"<PartNumber>(\d+)</PartNumber>", body.decode())]
        self.objects[key] = b"".join(parts[number] for number in numbers)
        reported = f"<Location>l</Location><Bucket>b</Bucket><Key>{key}</Key><ETag>1</ETag>"
        return _xml(f"<CompleteMultipartUploadResult>{reported}</CompleteMultipartUploadResult>")

    def _get(self, key: str, requested: str) -> web.Response:
        if key not in self.objects:
            return web.Response(status=404, text=f"{XML}<Error><Code>NoSuchKey</Code></Error>")
        content = self.objects[key]
        headers = {"etag": '"1"', "last-modified": "Tue, 01 Sep 2026 00:00:00 GMT"}
        if found := re.fullmatch(r"bytes=(\d+)-(\d+)", requested):
            first = int(found[1])
            last = min(int(found[2]), len(content) - 1)
            headers["content-range"] = f"bytes {first}-{last}/{len(content)}"
            return web.Response(status=206, body=content[first : last + 1], headers=headers)
        return web.Response(body=content, headers=headers)


def _xml(body: str) -> web.Response:
    return web.Response(text=XML + body, content_type="application/xml")


@asynccontextmanager
async def small_bucket() -> AsyncIterator[SmallBucket]:
    """Serve an empty bucket."""
    bucket = SmallBucket()
    app = web.Application(client_max_size=2**30)
    app.router.add_route("*", "/bucket/{key:.*}", bucket.answer)
    app.router.add_route("POST", "/{key:bucket}", bucket.answer)
    async with serving_app(app) as bucket.url:
        yield bucket
