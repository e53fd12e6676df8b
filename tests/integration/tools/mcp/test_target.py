"""Which server a request's tool means, and which are refused before anything is asked."""

from typing import Any

import pytest

from antiphon.config import McpServerConfig
from antiphon.errors import ClientError, ConfigError
from antiphon.outbound.ssrf import Reach, read_networks
from antiphon.protocol.tools import McpTool, WebSearchTool
from antiphon.tools.mcp.servers import McpServers
from antiphon.tools.mcp.target import Targets
from tests.integration.tools.mcp.support import call

SETTINGS = [
    McpServerConfig(label="kept", url="http://10.1.2.3/mcp", description="Tickets of ours."),
    McpServerConfig(label="program", command="files-server", connector="connector_dropbox"),
]


def refusal(**fields: Any) -> ClientError:
    servers = McpServers(SETTINGS, Reach(read_networks(["10.0.0.0/8"])), environment={})
    with pytest.raises(ClientError) as refused:
        servers.check(McpTool(**{"server_label": "new", **fields}))
    assert (refused.value.status, refused.value.param, refused.value.code) == (
        400,
        "tools",
        "invalid_value",
    )
    return refused.value


@pytest.mark.parametrize(
    "fields",
    [
        {"server_url": "https://mcp.example.com/mcp"},
        {"server_url": "https://mcp.example.com:8443/mcp?team=a"},
        {"server_url": "https://8.8.8.8/mcp"},
        {"server_url": "http://10.9.8.7/mcp"},
        {"server_url": "http://intranet.example/mcp"},
        {"server_url": "https://mcp.example.com", "authorization": "t", "headers": {"X-Team": "a"}},
        {"server_label": "kept"},
        {"server_label": "kept", "authorization": "mine"},
        {"server_label": "program"},
        {"connector_id": "connector_dropbox"},
        {"server_url": None, "connector_id": None, "tunnel_id": None, "server_label": "kept"},
    ],
)
def test_an_available_server_is_selected(fields: dict[str, Any]) -> None:
    McpServers(SETTINGS, Reach(read_networks(["10.0.0.0/8"])), environment={}).check(
        McpTool(**{"server_label": "new", **fields})
    )


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://mcp.example.com/",
        "mcp.example.com/mcp",
        "https://",
        "https:///mcp",
        "https://me@mcp.example.com/",
        "https://mcp.example.com@10.0.0.1/",
        "https://mcp.example.com\\@10.0.0.1/",
        "https://mcp.example.com:0/",
        "https://mcp.example.com:99999/",
        "https://mcp.example.com/\r\nx: y",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://127.0.0.1/mcp",
        "https://[::1]/mcp",
        "https://[::ffff:127.0.0.1]/mcp",
        "https://169.254.169.254/latest/meta-data",
        "https://192.168.1.1/",
        "http://8.8.8.8/mcp",
        "stdio:rm -rf /",
    ],
)
def test_a_forbidden_url_is_refused_without_repeating_it(url: str) -> None:
    message = refusal(server_url=url).message
    assert "server_url" in message
    assert "passwd" not in message


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "No MCP server 'new' is configured. Set its 'server_url'"),
        ({"server_url": ""}, "Set its 'server_url'"),
        ({"server_url": "mcp.example.com/mcp"}, "begin it with https://"),
        ({"server_url": "https://a.example", "connector_id": "connector_dropbox"}, "not both"),
        ({"connector_id": "connector_gmail"}, "'connector' in 'mcp_servers'"),
        ({"tunnel_id": "tunnel_1"}, "Set the server's 'server_url'"),
        ({"server_label": "kept", "server_url": "https://a.example"}, "set another 'server_label'"),
        (
            {"server_label": "program", "server_url": "https://a.example"},
            "set another 'server_label'",
        ),
        ({"server_label": "program", "authorization": "x"}, "does not accept headers"),
        ({"server_label": "program", "headers": {"x": "y"}}, "does not accept headers"),
        (
            {
                "server_url": "https://a.example",
                "authorization": "a",
                "headers": {"Authorization": "b"},
            },
            "not both",
        ),
        (
            {"server_url": "https://a.example", "headers": {"Host": "b.example"}},
            "The header 'host'",
        ),
        (
            {"server_url": "https://a.example", "headers": {"Content-Length": "9"}},
            "The header 'content-length'",
        ),
        (
            {"server_url": "https://a.example", "headers": {"Mcp-Session-Id": "x"}},
            "The header 'mcp-session-id'",
        ),
        ({"server_url": "https://a.example", "headers": {"x": "a\r\nb: c"}}, "The header 'x'"),
        ({"server_url": "https://a.example", "headers": {"a b": "c"}}, "The header '…'"),
        ({"server_url": "https://a.example", "headers": {"x": "sk-sécret"}}, "The header 'x'"),
        (
            {"server_url": "https://a.example", "authorization": "sk-\nsecret"},
            "The header 'authorization'",
        ),
    ],
)
def test_what_names_no_server_or_cannot_be_sent_is_refused_with_what_to_give(
    fields: Any, words: str
) -> None:
    message = refusal(**fields).message
    assert words in message
    assert "cret" not in message


async def test_a_list_or_call_of_a_refused_server_has_the_reason() -> None:
    servers = McpServers(environment={})
    listing = await servers.list(McpTool(server_label="new"))
    outcome = await call(servers, McpTool(server_label="new"), "x")
    assert "Set its 'server_url'" in listing.error
    assert outcome.is_failed
    assert "Set its 'server_url'" in outcome.fields["error"]["message"]


def test_a_variable_that_is_not_set_is_named() -> None:
    for one in (
        McpServerConfig(label="kept", url="https://a.example", key_env="KEPT_KEY"),
        McpServerConfig(label="kept", command="x", env=["KEPT_KEY"]),
    ):
        with pytest.raises(ConfigError, match="'kept' needs the variable KEPT_KEY"):
            McpServers([one], environment={"KEPT_KEY": " "})


def test_a_key_that_no_header_can_have_is_refused() -> None:
    one = McpServerConfig(label="kept", url="https://a.example", key_env="KEPT_KEY")
    with pytest.raises(ConfigError, match="The variable KEPT_KEY is not a valid key"):
        McpServers([one], environment={"KEPT_KEY": "sk-1\r\nx: y"})


def test_configured_fields_of_a_server_can_be_requested() -> None:
    servers = McpServers(SETTINGS, environment={})
    assert servers.description(McpTool(server_label="kept")) == "Tickets of ours."
    assert servers.description(McpTool(server_label="program")) == ""


def test_a_tool_of_another_kind_is_nobodys_concern_here() -> None:
    McpServers(environment={}).check(WebSearchTool())


def test_servers_that_differ_in_anything_that_is_sent_share_nothing() -> None:
    targets = Targets(SETTINGS, Reach(), {})
    requested: list[dict[str, Any]] = [
        {"server_url": "https://a.example/mcp"},
        {"server_url": "https://a.example/mcp2"},
        {"server_url": "https://a.example/mcp", "authorization": "a"},
        {"server_url": "https://a.example/mcp", "authorization": "b"},
        {"server_url": "https://a.example/mcp", "headers": {"x-key": "a"}},
        {"server_label": "kept"},
        {"server_label": "kept", "authorization": "a"},
        {"server_label": "program"},
    ]
    keys = {targets.find(McpTool(**{"server_label": "new", **fields})).key for fields in requested}
    assert len(keys) == len(requested)
    assert targets.find(McpTool(server_label="x", **requested[0])).key in keys
