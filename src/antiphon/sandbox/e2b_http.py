"""Requests of E2B's protocol: to the service, which creates sandboxes, and to the two servers in
each sandbox.
"""

import base64
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec

from antiphon.errors import redacted
from antiphon.sandbox.contract import SandboxError
from antiphon.sandbox.e2b_streams import decoded

ENVD, INTERPRETER = 49983, 49999
"""Ports in a sandbox: of files and processes, of code."""
SECONDS = 60.0
"""For a request that runs nothing."""
JSON = "application/json"
LONGEST = 1024 * 1024
"""Bytes of an answer that is read as a whole."""


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach one sandbox."""

    id: str
    domain: str
    """Empty if all sandboxes share the service's URL."""
    headers: Mapping[str, str]


class Created(msgspec.Struct, rename="camel"):
    """The service's answer to a new sandbox."""

    sandbox_id: str = msgspec.field(name="sandboxID")
    domain: str | None = None
    envd_access_token: str | None = None
    traffic_access_token: str | None = None


class Requests:
    """Sends requests, with one session for all sandboxes. Every failure is a `SandboxError`."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url.rstrip("/")
        self._key = key
        self._session: aiohttp.ClientSession | None = None

    async def create(self, template: str, seconds: int) -> Access:
        """Create a sandbox without network, which ends automatically after this many seconds."""
        body = {
            "templateID": template,
            "timeout": seconds,
            "secure": True,
            "allow_internet_access": False,
        }
        created = decoded(await self._service("POST", "/sandboxes", body), Created)
        tokens = {
            "X-Access-Token": created.envd_access_token,
            "E2B-Traffic-Access-Token": created.traffic_access_token,
        }
        headers = {name: token for name, token in tokens.items() if token}
        host = urlsplit(self._url).hostname or ""
        domain = created.domain or host.removeprefix("api.") if host.startswith("api.") else ""
        return Access(created.sandbox_id, domain, headers)

    async def prolong(self, access: Access, seconds: int) -> None:
        """Extend the life of a sandbox to this many seconds from now."""
        await self._service("POST", f"/sandboxes/{access.id}/timeout", {"timeout": seconds})

    async def delete(self, access: Access) -> None:
        """End a sandbox."""
        await self._service("DELETE", f"/sandboxes/{access.id}", None)

    async def _service(self, method: str, path: str, body: Any) -> bytes:
        headers = {"X-API-Key": self._key, "Content-Type": JSON}
        content = None if body is None else msgspec.json.encode(body)
        async with self._sent(
            method, f"{self._url}{path}", headers, SECONDS, None, content
        ) as response:
            return await _read(response)

    @asynccontextmanager
    async def inside(
        self,
        access: Access,
        port: int,
        path: str,
        *,
        method: str = "POST",
        user: str = "user",
        kind: str = JSON,
        query: Mapping[str, str] | None = None,
        data: bytes | aiohttp.MultipartWriter | None = None,
        seconds: float | None = SECONDS,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request to a server in a sandbox, as one of its users; `kind` is the content type
        of its body.
        """
        basic = base64.b64encode(f"{user}:".encode()).decode()
        headers = {
            **access.headers,
            "Authorization": f"Basic {basic}",
            "E2b-Sandbox-Id": access.id,
            "E2b-Sandbox-Port": str(port),
            **({"Connect-Protocol-Version": "1"} if "." in path else {}),
            **({"Content-Type": kind} if isinstance(data, bytes) else {}),
        }
        base = f"https://{port}-{access.id}.{access.domain}" if access.domain else self._url
        async with self._sent(method, f"{base}{path}", headers, seconds, query, data) as response:
            yield response

    async def unary(self, access: Access, port: int, path: str, body: Any) -> bytes:
        """Return the answer to a request with a JSON body."""
        async with self.inside(access, port, path, data=msgspec.json.encode(body)) as response:
            return await _read(response)

    @asynccontextmanager
    async def _sent(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        seconds: float | None,
        query: Mapping[str, str] | None,
        data: bytes | aiohttp.MultipartWriter | None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                trust_env=False, cookie_jar=aiohttp.DummyCookieJar()
            )
        limit = aiohttp.ClientTimeout(total=seconds, sock_connect=SECONDS)
        try:
            async with self._session.request(
                method,
                url,
                headers=headers,
                params=query,
                data=data,
                timeout=limit,
                allow_redirects=False,
            ) as response:
                if response.status >= 300:
                    raise SandboxError(await _refusal(response, self._url))
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise SandboxError(
                f"The sandbox service {redacted(self._url)} is unreachable: {_cause(error)}."
            ) from error

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def _cause(error: Exception) -> str:
    """Return why no answer arrived, without aiohttp's details."""
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "DNS lookup failed"
    number = error.errno if isinstance(error, OSError) else None
    return (
        os.strerror(number).lower() if number and number > 0 else str(error) or type(error).__name__
    )


async def _refusal(response: aiohttp.ClientResponse, url: str) -> str:
    url = redacted(url)
    if response.status in {401, 403}:
        return (
            f"The sandbox service {url} rejected the API key (status {response.status}). Check "
            "`code_e2b_key_env`."
        )
    text = (await response.content.read(500)).decode(errors="replace")
    return f"The sandbox service {url} answered with status {response.status}: {text or 'no text'}"


async def _read(response: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for part in response.content.iter_chunked(65536):
        content += part
        if len(content) > LONGEST:
            raise SandboxError("The sandbox service sent a response that is too large.")
    return bytes(content)
