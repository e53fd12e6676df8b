"""No function only forwards: each hop that a reader follows has a reason."""

import ast

import pytest
from bench.shape import Definition

from tests.support.forwarding import is_justified, needless_forwards
from tests.unit.test_layers import SOURCE

REASONS: dict[str, tuple[str, ...]] = {
    (
        "it names a call that its module makes with values of the object, "
        "in several places or as a callback"
    ): (
        "access.api_keys.Mint._digest",
        "access.unseal.Unsealer.token",
        "gateway.messages.MessageAnswer._tokens",
        "objects.items.ItemViews._put_images",
        "protocol.json_slices._Slices._text",
        "recording.persistence.ForegroundRecorder._free_key",
        "runs.agentic_turn.AgenticTurn._conversation",
        "runs.request_builder.RequestBuilder.toolbox",
        "runs.tool_calls.ToolExecutor._approved",
        "runs.tool_policy.ToolPolicy.listed",
        "runs.translated._to_responses",
        "server.admin.responses._Responses._caller",
        "server.websocket.connection.WebSocketConnection._message",
        "translation.checked_items.TextCheck.misfit",
        "translation.from_responses.item.PassedItem._closed",
        "translation.to_chat_completions.messages._Renderer._visible",
        "upstream.http.HttpBackend._unlisted",
        "upstream.router.Route._pause",
    ),
    "the object owns what it forwards to, and shows no more of it": (
        "agents.context.AgentContext.approvals",
        "agents.context.AgentContext.call",
        "agents.context.AgentContext.client_call",
        "agents.context.AgentContext.message",
        "agents.context.AgentContext.reasoning",
        "agents.context.AgentContext.tool",
        "agents.item_order.ItemOrder.release",
        "console.reader.ConsoleReader.check_filters",
        "runs.run.Run.remaining_events",
        "runs.turn.Turn.requests_plain",
        "sandbox.machine.BubblewrapMachine.is_busy",
        "status.process_status.ProcessStatus.profiles",
        "storage.notifications.Notifier.listen",
        "storage.operations.facts_where.Statement.where",
        "storage.postgres.store.PostgresStore._receive",
        "tools.mcp.target.McpTarget.secrets",
        "translation.from_chat.annotations.Annotations.add",
        "translation.from_messages.answers.TurnReader._add_redacted",
        "translation.writer.ResponseWriter.keepalive",
        "upstream.call.UpstreamReply.succeeded",
    ),
    "a library, or a caller that knows only the name, calls it": (
        "library.transport._AsyncBody.aclose",
        "library.transport._AsyncTransport.aclose",
        "sandbox.pairs.PipeEnd.setblocking",
        "telemetry.agents.AgentMetrics.agent_ended",
        "tools.mcp.session.trusted_roots",
        "tools.mcp.wire.Wire.aclose",
        "tools.mcp.wire._Bounded.aclose",
        "translation.from_chat.text_calls.wrapped.WrappedReader.interrupt",
        "upstream.demo.backend.DemoBackend.answer",
    ),
    "it loads a module that most processes do not need": (
        "agents.langgraph.__init__.call",
        "build.server._open_sandbox",
        "cli.serve._return_freed_memory",
    ),
    "it is the domain's word for a call of a general function": (
        "access.limits.allows",
        "access.weight.weight_of_response",
        "cache.vectors.to_bytes",
        "history.prompted.template_of",
        "objects.items._unsealed",
        "outbound.ssrf.Reach.on_behalf",
        "packages._distributions",
        "protocol.grammars.unsound",
        "recording.checkpoints.to_bytes",
        "sharing.cores.whole_cores",
        "sharing.loading.load_if_installed",
        "telemetry.context.about",
        "translation.to_chat_completions.schema_roots.is_flat",
        "upstream.outages._loop_time",
        "upstream.probing.interview.at_once",
        "upstream.probing.measurement.Measurement.encode",
    ),
}
"""The functions that only forward, by the reason why each stays."""


def test_no_function_only_forwards_without_a_reason() -> None:
    assert sorted(needless_forwards(SOURCE / "antiphon")) == sorted(
        name for names in REASONS.values() for name in names
    )


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(a):\n    return g(a)", False),
        ("async def f(self, a):\n    return await self._part.f(a, self._b)", False),
        ("def f(a):\n    return g(a, 3)", True),
        ("def f(a):\n    return Part(a)", True),
        ("def f(a):\n    return g(a, LIMIT)", True),
        ("def f(a):\n    return len(a)", True),
        ("def close(self):\n    return self._part.close()", True),
    ],
)
def test_a_function_that_only_forwards_is_found(code: str, expected: bool) -> None:
    function = ast.parse(code).body[0]
    assert isinstance(function, Definition)
    assert is_justified(function, {"close"}) is expected
