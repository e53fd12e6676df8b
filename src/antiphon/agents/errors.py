"""What an agent's handler can raise and catch."""

from antiphon.agents.results import checked_text
from antiphon.errors import AntiphonError
from antiphon.jobs.agent_answers import run_expired


class AgentError(AntiphonError):
    """The response of an agent fails with this message and code, which the client receives.

    Raises `TypeError` if one is not a text, and `ValueError` if one is not valid Unicode.
    """

    def __init__(self, message: str, code: str = "agent_error") -> None:
        super().__init__(
            checked_text(message, "The message of an AgentError"),
            code=checked_text(code, "The code of an AgentError"),
        )


class StepInterrupted(Exception):  # noqa: N818 - nothing is known to be wrong
    """A step with `once=True` was begun by an attempt that died: it may have taken effect."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"The step {key} was begun by a worker that died, so it may have taken effect. It is "
            "not run again."
        )
        self.key = key


class StepFailed(Exception):  # noqa: N818 - what failed is the step
    """A step raised, after its retries. Each later attempt gets the same error."""

    def __init__(self, key: str, type: str, message: str) -> None:
        super().__init__(f"The step {key} failed: {type}: {message}")
        self.key = key
        self.type = type
        self.message = message


def interrupted() -> AgentError:
    """Return the error for a response in the foreground, if its worker dies."""
    return AgentError(
        "The worker of the agent died. A request with background: true continues in another one.",
        code="agent_interrupted",
    )


def needs_store() -> AgentError:
    """Return the error for a response that asks the client, and that no other one can continue."""
    return AgentError(
        "The agent asks its client, and a later response can only continue one that is stored. "
        "Send the request with store: true.",
        code="agent_needs_store",
    )


def deleted_meanwhile() -> AgentError:
    """Return the error for a response of the run that was deleted while a later one continues."""
    expired = run_expired()
    return AgentError(expired.message, code=str(expired.code))


def agent_changed(key: str, field: str) -> AgentError:
    """Return the error for a step with another input than the one in the journal."""
    return AgentError(
        f"The agent has changed since this response began: the step {key!r} had another {field}. "
        "If the input of a step depends on the time or on chance, record it: `await ctx.now()`, "
        "`ctx.random`. If steps run side by side, give each a scope: `async with ctx.scope(id)`. "
        "If a parameter of `ctx.call` may differ, name it in `volatile`.",
        code="agent_changed",
    )


def result_too_large(key: str, size: int, most: int) -> AgentError:
    """Return the error for a result that is too large for the journal."""
    return AgentError(
        f"The result of the step {key!r} has {size:,} bytes as JSON; the most is {most:,}. Store "
        "it in a file, and return its ID.",
        code="step_result_too_large",
    )


def too_many_steps(most: int) -> AgentError:
    """Return the error for a response with too many steps."""
    return AgentError(
        f"The response has more than {most:,} steps.",
        code="too_many_steps",
    )


def journal_too_large(most: int) -> AgentError:
    """Return the error for a journal that is too large."""
    return AgentError(
        f"The steps of the response have more than {most:,} bytes of results.",
        code="journal_too_large",
    )


def over() -> RuntimeError:
    """Return the error for a context that is used after the end of its attempt."""
    return RuntimeError(
        "The response has ended, or another worker continues it: its context cannot be used any "
        "more. Await all work before the handler returns."
    )
