"""What tenant B does: requests at a steady rate and, beside them, jobs, webhooks, pages and
tools.
"""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any

import aiohttp

from bench.attacks.backend import FOUND
from bench.attacks.resolver import HERE

RATE = 50
"""Requests a second."""

ERRANDS_EVERY = 1.0
"""Seconds between a job with its webhook, a page or a tool, and the next one of its kind."""

PATIENCE = 30.0
"""Seconds after which anything counts as failed."""

POLL_INTERVAL = 0.1
"""Seconds between looks whether a job is completed, or a webhook received."""


@dataclass(slots=True)
class Outcome:
    """The milliseconds of each request, and how often something failed, by its kind."""

    taken: list[float] = field(default_factory=list)
    failed: dict[str, int] = field(default_factory=dict)

    @property
    def p99(self) -> float:
        """Milliseconds."""
        return quantiles(self.taken, n=100)[98]

    @property
    def median(self) -> float:
        """Milliseconds."""
        return median(self.taken)

    @property
    def worst(self) -> float:
        """Milliseconds."""
        return max(self.taken)


class Tenant:
    """A client with the key of tenant B. `backend` is the URL of the backend, which receives B's
    webhooks too.
    """

    def __init__(self, http: aiohttp.ClientSession, backend: str) -> None:
        self._http = http
        self._backend = backend
        self._numbers = itertools.count()
        self._errands: dict[str, Callable[[], Awaitable[bool]]] = {
            "jobs and webhooks": self._job,
            "pages": self._page,
            "tools": self._tool,
        }

    async def begin(self) -> None:
        """Register the webhook, and do everything once: what is loaded for the first of its kind is
        loaded then.

        Raises `RuntimeError` where something fails.
        """
        body = {"name": "b", "url": f"{self._backend}/hook", "event_types": ["response.completed"]}
        await self._send_request("/v1/webhook_endpoints", body)
        for kind, errand in self._errands.items():
            if not await errand():
                raise RuntimeError(f"The {kind} of B fail without an attack.")

    async def work(self, seconds: float) -> Outcome:
        """Work for so many seconds, and until everything has its end."""
        outcome = Outcome()
        requests = [self._timed(number / RATE, outcome) for number in range(int(RATE * seconds))]
        errands = [
            self._counted(kind, (number + 0.5) * ERRANDS_EVERY, outcome)
            for kind in self._errands
            for number in range(max(1, int(seconds / ERRANDS_EVERY)))
        ]
        await asyncio.gather(*requests, *errands)
        return outcome

    async def _timed(self, delay: float, outcome: Outcome) -> None:
        await asyncio.sleep(delay)
        began = time.perf_counter()
        await self._count("requests", self._request, outcome)
        outcome.taken.append((time.perf_counter() - began) * 1000)

    async def _counted(self, kind: str, delay: float, outcome: Outcome) -> None:
        await asyncio.sleep(delay)
        await self._count(kind, self._errands[kind], outcome)

    async def _count(self, kind: str, act: Callable[[], Awaitable[bool]], outcome: Outcome) -> None:
        is_good = False
        try:
            async with asyncio.timeout(PATIENCE):
                is_good = await act()
        except (aiohttp.ClientError, TimeoutError):
            """It failed."""
        outcome.failed[kind] = outcome.failed.get(kind, 0) + (not is_good)

    async def _request(self) -> bool:
        async with self._http.post(
            "/v1/responses", json={"model": "m", "input": "Hello!"}
        ) as reply:
            await reply.read()
            return reply.status == 200

    async def _job(self) -> bool:
        """Have a response made in the background, and wait until its webhook was received."""
        created = await self._send_request(
            "/v1/responses", {"model": "m", "input": "Hello!", "background": True}
        )
        if "id" not in created:
            return False
        while not await self._get(f"{self._backend}/received/{created['id']}"):  # noqa: ASYNC110 - it must be asked for
            await asyncio.sleep(POLL_INTERVAL)
        return bool((await self._get(f"/v1/responses/{created['id']}"))["status"] == "completed")

    async def _page(self) -> bool:
        """Have the model open a page of a site whose name nobody has looked up yet."""
        number = next(self._numbers)
        url = f"{self._backend.replace('127.0.0.1', f'b{number}{HERE}')}/page/small/{number}"
        return await self._finds({"input": f"Read {url}", "tools": [{"type": "web_search"}]})

    async def _tool(self) -> bool:
        tool = {"type": "mcp", "server_label": "quick", "require_approval": "never"}
        return await self._finds(
            {"input": "x", "tools": [{**tool, "server_url": f"{self._backend}/mcp/quick"}]}
        )

    async def _finds(self, body: dict[str, Any]) -> bool:
        created = await self._send_request("/v1/responses", {"model": "m", **body})
        return created.get("status") == "completed" and FOUND in str(created["output"][-1])

    async def _send_request(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        async with self._http.post(path, json=body) as reply:
            return dict(await reply.json(content_type=None))

    async def _get(self, url: str) -> Any:
        async with self._http.get(url) as reply:
            return await reply.json(content_type=None)


@asynccontextmanager
async def tenant(port: int, key: str, backend: int) -> AsyncIterator[Tenant]:
    """Connect tenant B to the server at this port."""
    headers = {"authorization": f"Bearer {key}"}
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    url = f"http://127.0.0.1:{port}"
    async with aiohttp.ClientSession(
        url, headers=headers, connector=connector, timeout=timeout
    ) as http:
        yield Tenant(http, f"http://127.0.0.1:{backend}")
