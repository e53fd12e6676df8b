"""Builds the hosted tools of the settings."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from antiphon.config import Settings, clean_key
from antiphon.errors import ConfigError
from antiphon.extras import require
from antiphon.outbound.lookups import Lookups, lookup_turns
from antiphon.outbound.ssrf import LookUp, Reach, read_networks
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


def toolset_of(
    settings: Settings,
    environment: Mapping[str, str] | None = None,
    shared: SharedResources | None = None,
    look_up: LookUp | None = None,
    measures: Measures | None = None,
    search: "Callable[[], StoreSearch] | None" = None,
    code: ContainerTools | None = None,
    images: "Callable[[], HostedTool] | None" = None,
) -> Toolset:
    """Return the hosted tools of these settings; they report shared resources to `shared`.

    `look_up` resolves names to addresses, `measures` counts; `search` returns the search in vector stores, and is
    called for the first search; `code` runs code and commands; `images` returns the image tool.
    Raises `ConfigError` if a key is missing.
    """
    if settings.mcp_servers:
        require("mcp", "The setting mcp_servers")
    environment = os.environ if environment is None else environment
    shared, measures = shared or SharedResources(), measures or Measures()
    look_up = look_up or Lookups(shared.add("dns_lookups", lookup_turns()))
    reach = Reach(read_networks(settings.outgoing_networks), look_up=look_up)
    servers = McpServers(
        settings.mcp_servers,
        reach,
        list_ttl=settings.mcp_list_ttl,
        timeout=settings.mcp_tool_timeout,
        environment=environment,
        shared=shared,
        count_left_out=lambda flaw, count: measures.mcp_left_out.add(flaw, by=count),
    )
    web = web_search_of(settings, environment, reach, shared)
    needs_lists = settings.mcp_list_failure == "fail"
    files = FileSearchLater(partial(_file_search_of, search)) if search is not None else None
    made = HostedToolLater(images) if images is not None else None
    return Toolset(web, servers, settings.tool_rounds, settings.tool_time, needs_lists, files, code, made)


def _file_search_of(search: "Callable[[], StoreSearch]") -> "FileSearch":
    from antiphon.tools.files.tool import FileSearch  # noqa: PLC0415 - only requests with the tool need it

    return FileSearch(search())


def web_search_of(
    settings: Settings, environment: Mapping[str, str], reach: Reach, shared: SharedResources | None = None
) -> "WebSearch | None":
    """Return the web search tool, or None without a provider. Raises `ConfigError` if its key is missing.

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
            f"The web search takes its key from {key_env}, which is not set. Set it, or name another variable as "
            "web_search_key_env."
        )
    place = settings.web_search_url or (settings.web_search if is_url else "")
    shared = shared or SharedResources()
    turns = shared.add("web_searches", engine.search_turns())
    asked = engine.SearchEngine(provider, url=place, key=key, timeout=settings.web_search_timeout, turns=turns)
    return tool.WebSearch(asked, Fetcher(reach), results=settings.web_search_results, shared=shared)
