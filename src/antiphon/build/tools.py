"""Builds the hosted tools of the settings."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from antiphon.config import Settings, clean_key
from antiphon.errors import ConfigError
from antiphon.extras import require
from antiphon.outbound.lookups import Lookups, lookup_turns
from antiphon.outbound.ssrf import Reach, Resolve, read_networks
from antiphon.sharing.lazy import Lazy
from antiphon.sharing.resources import SharedResources
from antiphon.telemetry.metrics import Measures
from antiphon.tools.base import ContainerTools, HostedTool
from antiphon.tools.later import FileSearchLater, HostedToolLater
from antiphon.tools.mcp.servers import McpServers
from antiphon.tools.registry import Toolset

if TYPE_CHECKING:
    from antiphon.search.contract import StoreSearch
    from antiphon.tools.files.tool import FileSearch
    from antiphon.tools.web.tool import WebSearch


@dataclass(slots=True, eq=False)
class OutsideTools:
    """The tools that call other servers: those of MCP servers, and web search."""

    mcp: McpServers
    web: "WebSearch | None"


def outside_tools_of(
    settings: Settings,
    environment: Mapping[str, str] | None = None,
    shared: SharedResources | None = None,
    resolve: Resolve | None = None,
    measures: Measures | None = None,
) -> OutsideTools:
    """Return the tools of these settings that call other servers; they report shared resources to
    `shared`.

    `resolve` resolves names to addresses, `measures` counts. Raises `ConfigError` if a key is
    missing.
    """
    if settings.mcp_servers:
        require("mcp", "The setting mcp_servers")
    environment = os.environ if environment is None else environment
    shared = shared or SharedResources()
    measures = measures or Measures()
    resolve = resolve or Lookups(shared.add("dns_lookups", lookup_turns()))
    reach = Reach(read_networks(settings.outgoing_networks), resolve=resolve)
    servers = McpServers(
        settings.mcp_servers,
        reach,
        list_ttl=settings.mcp_list_ttl,
        timeout=settings.mcp_tool_timeout,
        environment=environment,
        shared=shared,
        count_left_out=lambda flaw, count: measures.mcp_left_out.add(flaw, by=count),
    )
    return OutsideTools(servers, web_search_of(settings, environment, reach, shared))


def toolset_of(
    settings: Settings,
    outside: OutsideTools,
    search: "StoreSearch | None" = None,
    code: ContainerTools | None = None,
    images: Lazy[HostedTool] | None = None,
) -> Toolset:
    """Return the hosted tools of these settings.

    `search` searches vector stores, `code` runs code and commands, `images` generates images.
    """
    return Toolset(
        outside.web,
        outside.mcp,
        settings.tool_rounds,
        settings.tool_time,
        settings.mcp_list_failure == "fail",
        FileSearchLater(Lazy(partial(_file_search_of, search))) if search is not None else None,
        code,
        HostedToolLater(images) if images is not None else None,
    )


def _file_search_of(search: "StoreSearch") -> "FileSearch":
    from antiphon.tools.files.tool import FileSearch  # noqa: PLC0415 - only requests with the tool need it

    return FileSearch(search)


def web_search_of(
    settings: Settings,
    environment: Mapping[str, str],
    reach: Reach,
    shared: SharedResources | None = None,
) -> "WebSearch | None":
    """Return the web search tool, or None without a provider.

    Raises `ConfigError` if its key is missing.

    `reach` limits the addresses of pages; the provider's address comes from the settings.
    """
    if not settings.web_search:
        return None
    require("web", "The setting web_search")
    from antiphon.outbound.fetch import Fetcher  # noqa: PLC0415 - as the next
    from antiphon.tools.web import engine, providers, tool  # noqa: PLC0415 - only for servers with a provider

    is_url = "://" in settings.web_search
    provider = providers.PROVIDERS["searxng" if is_url else settings.web_search]
    key_env = settings.web_search_key_env or provider.key_env
    key = clean_key(environment, key_env) if key_env else ""
    if key_env and not key:
        raise ConfigError(
            f"The web search takes its key from {key_env}, which is not set. "
            "Set it, or name another variable as web_search_key_env."
        )
    place = settings.web_search_url or (settings.web_search if is_url else "")
    shared = shared or SharedResources()
    turns = shared.add("web_searches", engine.search_turns())
    requested = engine.SearchEngine(
        provider, url=place, key=key, timeout=settings.web_search_timeout, turns=turns
    )
    return tool.WebSearch(
        requested, Fetcher(reach), results=settings.web_search_results, shared=shared
    )
