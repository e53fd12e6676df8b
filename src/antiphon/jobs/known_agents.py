"""The agents that workers serve, as this process knows them."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from antiphon.errors import ClientError
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tools import AnyTool, McpTool
from antiphon.storage.operations import leases
from antiphon.storage.records.agents import AgentOffer, offers_of
from antiphon.storage.store import Store

AGENT_URL = "agent:"


class KnownAgents:
    """Agents by name: those of living workers, and those of the settings, which may have none."""

    def __init__(self, configured: Sequence[str] = ()) -> None:
        self._configured = {name: AgentOffer(name) for name in configured}
        self._own: Mapping[str, AgentOffer] = {}
        self.offered: Mapping[str, AgentOffer] = {}
        """Those of living workers."""
        self.names: Mapping[str, AgentOffer] = dict(self._configured)
        """All of them."""
        self.versions: frozenset[tuple[str, str]] = frozenset()
        """The agents of living workers, each with its version: one can have several."""

    def add_own(self, offers: Iterable[AgentOffer]) -> None:
        """Add the agents of this process, which has no need to read them."""
        self._own = {one.name: one for one in offers}
        self._put(self._own)

    async def refresh(self, store: Store) -> None:
        """Read the agents of all workers."""
        texts = await store.read(leases.offered_agents)
        offered = [one for text in texts for one in offers_of(text)]
        self._put({**{one.name: one for one in offered}, **self._own})
        self.versions = frozenset((one.name, one.version) for one in offered)

    def _put(self, offered: Mapping[str, AgentOffer]) -> None:
        self.offered = offered
        self.names = {**self._configured, **offered}


def declares(tool: AnyTool, agent: str) -> bool:
    """Whether a tool declares the label of an agent to a client, which checks those of approvals:
    an MCP server with the URL `agent:` and the name of the agent. Nothing is connected.
    """
    return (
        isinstance(tool, McpTool)
        and tool.server_url == AGENT_URL + agent
        and tool.server_label == agent
    )


def without_declaration(request: CreateResponse) -> CreateResponse:
    """Return a request as its agent reads it: without a tool that declares the agent itself."""
    if not request.tools:
        return request
    tools = [tool for tool in request.tools if not declares(tool, request.model)]
    return request if len(tools) == len(request.tools) else replace(request, tools=tools or None)


def agent_elsewhere(name: str) -> ClientError:
    """Return the error for an agent that is called by another API than that of responses."""
    return ClientError(
        f"The model '{name}' is an agent, which answers only to POST /v1/responses over HTTP.",
        code="unsupported_value",
        param="model",
    )
