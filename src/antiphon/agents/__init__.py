"""Your own async function as a model: stored, streamed, and continued after a crash.

| To | Use |
|---|---|
| register a handler under the name of a model | `agent` |
| do durable work, and emit output | `AgentContext`, the argument of the handler |
| do the same in a thread | `SyncContext`, as `AgentContext.sync` |
| let a remote detect a repeated call | `idempotency_key`, inside a step |
| let a response fail with a message for its client | `AgentError` |
| read what the client answered to `AgentContext.approval` | `Approval` |
| react to a step that failed, or that a crash interrupted | `StepFailed`, `StepInterrupted` |

`antiphon.testing.agents` runs an agent in your tests, and ends it before and after each write.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antiphon.agents.approvals import Approval
    from antiphon.agents.context import AgentContext
    from antiphon.agents.errors import AgentError, StepFailed, StepInterrupted
    from antiphon.agents.output import MessageWriter
    from antiphon.agents.registration import Agent, agent
    from antiphon.agents.steps import idempotency_key
    from antiphon.agents.sync_context import SyncContext
    from antiphon.agents.tools import ToolResult

__all__ = [
    "Agent",
    "AgentContext",
    "AgentError",
    "Approval",
    "MessageWriter",
    "StepFailed",
    "StepInterrupted",
    "SyncContext",
    "ToolResult",
    "agent",
    "idempotency_key",
]

if not TYPE_CHECKING:
    _HOMES = {
        "Agent": "registration",
        "AgentContext": "context",
        "AgentError": "errors",
        "Approval": "approvals",
        "MessageWriter": "output",
        "StepFailed": "errors",
        "StepInterrupted": "errors",
        "SyncContext": "sync_context",
        "ToolResult": "tools",
        "agent": "registration",
        "idempotency_key": "steps",
    }

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

    def __dir__() -> list[str]:
        return __all__
