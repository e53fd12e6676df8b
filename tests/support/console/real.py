"""The console of the real server, with two scripted backends behind it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from antiphon.agents.registration import Agent
from antiphon.storage.operations import api_keys
from antiphon.storage.records.tenants import ApiKey, Role
from antiphon.tools.files.tool import FileSearch
from antiphon.tools.registry import Toolset
from antiphon.upstream.http import HttpBackend
from tests.support.browser import a_page
from tests.support.console.visitor import Visitor
from tests.support.keys import bearing, issued
from tests.support.replay import ReplayBackend, echo
from tests.support.server import RunningServer, serve
from tests.support.tools import Servers

BODY = {"model": "m", "input": "Hello"}


@dataclass
class RealConsole(Visitor):
    """The server, its backends `a` and `b`, of which `a` is called first, its tools, and keys by
    tenant.
    """

    server: RunningServer
    a: ReplayBackend
    b: ReplayBackend
    tools: Servers
    keys: dict[str, str] = field(default_factory=dict)

    async def key(
        self, tenant: str = "acme", role: Role = Role.USE, name: str = "test"
    ) -> tuple[str, ApiKey]:
        """Create an API key; return it and what is stored of it."""
        store = self.server.parts.store
        key, stored = await issued(store, tenant, role=role)
        stored = replace(stored, name=name)
        await store.write(api_keys.put, stored)
        self.server.parts.keys.forget()
        return key, stored

    async def sign_in(
        self, role: Role = Role.ADMIN, tenant: str = "acme", *, path: str = ""
    ) -> ApiKey:
        """Sign in with a new key, by the form; return the key."""
        key, stored = await self.key(tenant, role, f"{role.value} of {tenant}")
        await self.open(path)
        await self.present(key, shows="Sign in to Antiphon")
        await self.page.wait_for(
            "document.querySelector('nav') && document.querySelector('h1') && "
            "!document.querySelector('.loading, [aria-busy=true]')"
        )
        self.page.complaints.clear()  # the browser reports the 401 before
        return stored

    async def create(self, tenant: str = "acme", **body: Any) -> dict[str, Any]:
        """Create a response with a key of a tenant; return it."""
        async with self.server.http.post(
            f"{self.server.url}/responses", json=BODY | body, headers=await self.headers(tenant)
        ) as reply:
            created: dict[str, Any] = await reply.json()
            return created

    async def headers(self, tenant: str = "acme") -> dict[str, str]:
        """Return the headers of a program with a key of a tenant."""
        if tenant not in self.keys:
            self.keys[tenant], _ = await self.key(tenant, name=f"program of {tenant}")
        return dict(bearing(self.keys[tenant]))


@asynccontextmanager
async def real_console(*agents: Agent) -> AsyncIterator[RealConsole]:
    """Serve two backends that repeat what they receive, and agents, and open a page."""
    async with AsyncExitStack() as stack:
        a, b = [await stack.enter_async_context(ReplayBackend(echo).serve()) for _ in "ab"]
        backends = [
            HttpBackend(name, replay.url, "sk-secret-backend-key")
            for name, replay in (("a", a), ("b", b))
        ]
        backend = await stack.enter_async_context(serve(*backends, agents=agents))
        await backend.parts.models.refresh()
        tools = Servers()
        files = FileSearch(backend.parts.objects.search)
        backend.parts.run.toolset = Toolset(mcp=tools, file_search=files)
        page = await stack.enter_async_context(a_page())
        await page.resize(1440)
        yield RealConsole(page, f"{backend.url.removesuffix('v1')}console/", backend, a, b, tools)
