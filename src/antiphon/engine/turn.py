"""The turn machine: what to do next for one response. It decides, `run.py` does.

next() ──> CallModel(body) ── refused(error) ──> next()   without the parameter, or with less history
                 └────────── answered(ending) ──> Finish
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from antiphon.chat.learn import refused_parameter
from antiphon.chat.request import to_chat
from antiphon.engine.failures import is_overflow, read_failure, too_long
from antiphon.engine.history import Context
from antiphon.engine.models import Target
from antiphon.engine.truncation import drop_oldest
from antiphon.protocol.requests import CreateResponse
from antiphon.stream.chat import Ending

MAX_REFUSALS = 8
"""Refused parameters of one response; a backend that refuses more means something else."""


@dataclass(frozen=True, slots=True)
class CallModel:
    """Send this body to the backend's chat completions."""

    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Finish:
    """The response is over."""

    ending: Ending


class Turn:
    """One response's turn. Ask `next`, do it, tell the outcome, until it says `Finish`."""

    def __init__(self, request: CreateResponse, context: Context, target: Target) -> None:
        self._request = request
        self._items = context.items
        self._history = len(context.history)
        self._target = target
        self._refusals = 0
        self._ending: Ending | None = None
        self._body: dict[str, Any] = {}

    def next(self) -> CallModel | Finish:
        """Return what to do now. Raises `ClientError` for a request that this backend cannot be asked."""
        if self._ending is not None:
            return Finish(self._ending)
        refused = frozenset(self._target.refused)
        self._body = to_chat(self._request, self._items, self._target.dialect, refused, history=self._history)
        return CallModel(self._body)

    def answered(self, ending: Ending, *, is_silent: bool = False) -> None:
        """The backend's answer was read to its end; `is_silent` where nothing came but how it ended.

        Some backends say only in their stream that the input is too long. As long as nothing was said, that is like
        a refusal.
        """
        if not (is_silent and ending.error and is_overflow(ending.error)):
            self._ending = ending
        elif not self._shorten():
            self._ending = replace(ending, error=too_long())

    def refused(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """The backend answered 400 or above. Returns if there is another way to ask; else raises what to report.

        A parameter that the backend names as unsupported is left out from now on (lessons L55). With
        `truncation: auto` an input that is too long loses its oldest part.
        """
        error = read_failure(status, headers, body, self._target.model)
        if is_overflow(error):
            if not self._shorten():
                raise error
            return
        name = refused_parameter(status, body, self._body)
        self._refusals += 1
        if name is None or name in self._target.refused or self._refusals > MAX_REFUSALS:
            raise error
        self._target.refused.add(name)

    def _shorten(self) -> bool:
        """Let the oldest part go, where that is allowed and there is one; return whether it went."""
        shorter = drop_oldest(self._items) if self._request.truncation == "auto" else None
        if shorter is None:
            return False
        self._history = max(0, self._history - (len(self._items) - len(shorter)))
        self._items = shorter
        return True
