"""The meaning of a backend's `finish_reason`, and the error of an answer without one."""

from typing import Any

from antiphon.errors import BackendError
from antiphon.translation.wire import FinishReason

FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "completed",
    "tool_calls": "completed",
    "length": "max_output_tokens",
    "content_filter": "content_filter",
    "max_tokens": "max_output_tokens",
    "max_output_tokens": "max_output_tokens",
    "model_length": "max_output_tokens",  # Mistral: the context is full
    "model_context_window_exceeded": "max_output_tokens",  # Z.ai
    "safety": "content_filter",
    "sensitive": "content_filter",  # Z.ai
    "recitation": "content_filter",  # Gemini behind thin gateways, in capitals
    "content_filtered": "content_filter",
}
"""The meaning of a `finish_reason` in lower case. One that is not here (`function_call`,
`tool_use`, `end_turn`, `eos`) ends well.
"""

BREAKDOWNS = {
    "error": "The backend reports that its answer ended with an error.",
    "abort": "The backend reports that its answer was aborted.",  # vLLM, SGLang
    "network_error": "The backend reports that its answer was interrupted.",  # Z.ai
    # DeepSeek
    "insufficient_system_resource": "The backend ran out of resources in the middle of its answer.",
}
"""Finish reasons that are failures, and their messages."""


def native_outcome(native: Any) -> FinishReason:
    """Return how an answer ended for the server behind a gateway, which reported that it ended
    well.

    OpenRouter reports a call that was cut by the token limit as `tool_calls`, and only its
    `native_finish_reason` says `max_output_tokens` or `length` (recordings
    `openrouter-rig-tool_truncation_contract_matrix`).
    """
    return (
        FINISH_REASONS.get(native.lower(), "completed") if isinstance(native, str) else "completed"
    )


def end_error(reason: str, *, is_whole: bool) -> BackendError | None:
    """Return why an answer with this finish reason failed.

    An answer without one is incomplete unless it `is_whole`.
    """
    if breakdown := BREAKDOWNS.get(reason):
        return BackendError(breakdown)
    return (
        None
        if reason or is_whole
        else BackendError("The backend's answer ended before it was finished.")
    )
