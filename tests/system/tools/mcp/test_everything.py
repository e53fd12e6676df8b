"""The server that shows everything, by others and in another language: over standard input and
output, and by HTTP.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bench.ports import free_port

from antiphon.config import McpServerConfig
from antiphon.protocol.items.content import InputImage
from antiphon.protocol.tools import McpTool
from antiphon.tools.base import ToolOutcome
from antiphon.tools.mcp.servers import McpServers
from tests.integration.tools.mcp.support import call, names, using
from tests.support import npm

pytestmark = pytest.mark.timeout(400)  # npm may have to install it

REQUEST = McpTool(server_label="everything")


@pytest.fixture(scope="module")
def everything() -> str:
    """The server's command."""
    if shutil.which("node") is None:
        pytest.skip("the server runs in Node.js, and there is none")
    pinned = Path(__file__).parent / "npm"
    return str(
        npm.install(
            pinned, "server-everything", "mcp-server-everything", folder=npm.CACHE / "everything"
        )
    )


@pytest.fixture(params=["stdio", "streamableHttp", "sse"])
async def servers(request: pytest.FixtureRequest, everything: str) -> AsyncIterator[McpServers]:
    """It, in the settings."""
    if request.param == "stdio":
        configured = McpServerConfig(label="everything", command=everything, args=["stdio"])
        async with using(configured) as one:
            yield one
        return
    with running(everything, request.param) as host:
        url = host + {"streamableHttp": "/mcp", "sse": "/sse"}[request.param]
        async with using(McpServerConfig(label="everything", url=url)) as one:
            yield one


@contextmanager
def running(everything: str, transport: str) -> Iterator[str]:
    """It on a port of its own; gives the origin."""
    port = free_port()
    environment = {**os.environ, "PORT": str(port)}
    process = subprocess.Popen(
        [everything, transport],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        while "port" not in (line := process.stdout.readline()):
            assert line, "it has ended"
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


async def test_everything_that_others_serve_can_be_listed_and_called(servers: McpServers) -> None:
    listing = await servers.list(REQUEST)
    assert listing.error == ""
    assert {"echo", "get-sum", "get-tiny-image"} <= set(names(listing.tools))
    assert all(tool["input_schema"]["type"] == "object" for tool in listing.tools)

    async def used(name: str, **arguments: object) -> ToolOutcome:
        return await call(servers, REQUEST, name, **arguments)

    assert (await used("echo", message="Hi.")).fields["output"] == "Echo: Hi."
    assert "5" in (await used("get-sum", a=2, b=3)).fields["output"]
    image = await used("get-tiny-image")
    assert "[image/png, " in image.fields["output"]
    assert any(isinstance(part, InputImage) for part in image.stated)
    links = await used("get-resource-links", count=2)
    assert links.fields["output"].count("demo://resource") >= 2
    wrong = await used("get-sum", a="x")
    assert wrong.is_failed
    assert wrong.fields["error"]["type"] == "mcp_tool_execution_error"
    unknown = await used("no-such-tool")
    assert unknown.is_failed
