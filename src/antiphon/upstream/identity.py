"""How errors name a backend: to clients by its label alone, to the operator by its name and URL,
with advice.

A tenant has no use for the address of a backend, and an internal address is a leak. The operator
needs it first. So one error has two texts: `message` for clients, and `str(error)` for logs,
commands and `/status`.
"""

from typing import Any, NamedTuple

from antiphon.errors import BackendError, redacted


class BackendIdentity(NamedTuple):
    """The names of a backend in errors."""

    name: str
    """The operator's name for it."""
    url: str
    """Its base URL; empty for a backend inside this process."""
    label: str
    """Its name in responses to clients."""
    key_env: str = ""
    """The environment variable that contains its key; empty if none is known."""

    @property
    def public(self) -> str:
        """The subject of a sentence for clients."""
        return f"Backend '{self.label}'"

    @property
    def full(self) -> str:
        """The subject of a sentence for the operator.

        Its URL is without credentials, query and fragment.
        """
        url = redacted(self.url).partition("?")[0].partition("#")[0]
        return f"Backend '{self.name}' ({url})" if url else f"Backend '{self.name}'"

    def error(
        self, stated: str, advice: str = "", *, detail: str = "", **fields: Any
    ) -> BackendError:
        """Return the error for a backend failure: `said` is a predicate without a full stop.

        `detail` replaces `said` for the operator, and `advice`, a sentence, is for the operator
        alone.
        """
        text = f"{self.full} {detail or stated}."
        return BackendError(
            f"{self.public} {stated}.", detail=f"{text} {advice}" if advice else text, **fields
        )

    def overloaded(self, status: int, headers: dict[str, str]) -> BackendError:
        """Return the error for a backend that has no capacity now."""
        detail = f"{self.full} is overloaded: it answered with status {status}."
        return BackendError.overloaded(
            f"{self.public} is overloaded. Please try again later.", headers, detail
        )

    def refused_key(self, status: int, answer: int = 502) -> BackendError:
        """Return the error for a backend that rejects this server's key, or needs one; `answer` is
        its own status.
        """
        text = f"rejected this server's credentials with status {status}."
        if self.key_env:
            advice = (
                f"Correct the key in the environment variable {self.key_env} (setting `key_env`)."
            )
        else:
            advice = "Set `key_env` to the environment variable that contains its key."
        message = f"{self.public} {text} The server's operator must correct them."
        return BackendError(message, detail=f"{self.full} {text} {advice}", status=answer)
