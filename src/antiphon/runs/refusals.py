"""What follows from the refusals of one response's requests: a lesson, another form of the request,
or the error.

A refusal is an HTTP reply of 400 or above, or an error that a backend sends with status
200 instead of an answer. This is loaded after the first one, and for a model that refusals
taught something about.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol
from weakref import proxy

from antiphon.errors import AntiphonError, BackendError
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.requests import CreateResponse, TranslatedRequest
from antiphon.runs.simplified import Simplified, own_parameters, plainest, tested
from antiphon.translation.dialects.dialect import NEXT_LESSON, Api
from antiphon.translation.dialects.differences import REJECTED
from antiphon.translation.dialects.output_limits import (
    OUTPUT_LESSON,
    WINDOW_LESSON,
    is_unsupported,
    stated_limit,
    stated_window,
)
from antiphon.translation.dialects.plainest import omit
from antiphon.translation.from_chat.failed_generation import UNPARSED
from antiphon.translation.learned import (
    is_credible,
    is_named,
    own_words,
    refused_parameter,
    refused_schema,
    refused_types,
    spoken,
)
from antiphon.translation.to_chat_completions.adjustments import EFFORT, OMITTED
from antiphon.translation.to_chat_completions.foreign import output_cap
from antiphon.translation.to_chat_completions.marks import Token, beginning_of
from antiphon.translation.to_chat_completions.request import EFFORT_PARAMETERS, Body
from antiphon.translation.to_chat_completions.tokens import request_tokens
from antiphon.translation.to_responses.plainest import simplify
from antiphon.translation.to_responses.request import RENAMES, extras, refused_field
from antiphon.upstream.backend_errors import is_overflow, read_failure, too_long
from antiphon.upstream.backend_state import ModelTarget
from antiphon.upstream.lessons import EVERYONE, NOTHING

MOST = 8
"""Rejected parameters and limits of one response; a backend that rejects more has another
problem.
"""

UNOPENED = "invalid_encrypted_content"
"""Error code for reasoning that a backend did not seal, or can no longer open
(specification section 13).
"""

_ADJUSTMENTS: Mapping[str, str] = {**OMITTED, **dict.fromkeys(EFFORT_PARAMETERS, EFFORT)}
"""Parameters -> the name for the omission of one; the others are hints."""


class Builder(Protocol):
    """The builder of the requests, `RequestBuilder`."""

    request: CreateResponse
    items: Sequence[InputItem]
    target: ModelTarget
    tenant: str
    token: Token
    body: Body
    api: Api

    def shortens_next(self) -> bool:
        """The backend found the request too long. Return whether the next one can be shorter."""


class Refusals:
    """The refusals of one response's requests, and what its next request is like
    because of them.
    """

    def __init__(self, builder: Builder) -> None:
        self._builder: Builder = proxy(builder)  # the builder has this object
        self._count = 0
        self.goes_by_chat = False
        """The backend's own Responses API does not accept this request."""
        self.is_without_blobs = False
        """The backend could not open content that it had sealed: its keys have changed since."""
        self._suspects: tuple[ModelTarget, frozenset[str]] | None = None
        """The types of tools and items that the Responses API rejected, and which backend it is."""
        self._simplified: Simplified | None = None
        """What is sent differently in this response, because of a refusal that nothing explains."""
        self._is_simplified = False
        """A request of this response was sent once more in its plainest form."""
        self._is_repeated = False
        """The request was sent again unchanged, because the service could not parse
        the model's call.
        """

    # Before a request.

    def lessons(self) -> frozenset[str]:
        """Return the lessons for this response, and what is simplified for it."""
        builder = self._builder
        simplified = self._current()
        lessons = builder.target.lessons
        mine = lessons.by_tenant.get(builder.tenant, NOTHING) | (
            simplified.lessons if simplified else NOTHING
        )
        # A parameter that the client wrote for the backend itself is refused by the backend,
        # and not here.
        return lessons.refused | mine.difference(own_parameters(builder.request))

    def adapt(
        self, request: CreateResponse, items: Sequence[InputItem], refused: Collection[str]
    ) -> list[str]:
        """Change the request that was just built as the lessons `refused` say; return the names
        of what differs.
        """
        builder = self._builder
        body = builder.body
        own = own_parameters(request)
        omitted = omit(body, refused, own)
        if builder.api == "chat":
            return [_ADJUSTMENTS[name] for name in omitted if name in _ADJUSTMENTS]
        requested = (name for name in _ADJUSTMENTS if getattr(request, name, None) is not None)
        adjusted = [_ADJUSTMENTS[name] for name in requested if name not in body]
        return adjusted + simplify(body, refused, lambda: builder.token(beginning_of(items)))

    def tests(self, request: CreateResponse) -> bool:
        """Return whether the request must be built again, to test a suspicion about its backend."""
        builder = self._builder
        if self._current() is not None:
            return False
        self._simplified = tested(
            builder.target, builder.tenant, request, (builder.body, builder.api)
        )
        return self._simplified is not None and bool(self._simplified.lessons)

    # After a request.

    def accepted(self) -> None:
        """The backend answered: conclude from what was simplified for it, and from what it did
        not accept before.
        """
        builder = self._builder
        suspects = self._suspects
        self._suspects = None
        if suspects is not None and suspects[0] is builder.target:
            for name in suspects[
                1
            ]:  # Chat accepted what the Responses API rejected: so the request was not invalid
                builder.target.learn(name, "")
        if (one := self._current()) is not None:
            one.accepted()

    @property
    def first(self) -> AntiphonError | None:
        """The error of the request that is sent once more in its plainest form,
        until that is accepted.
        """
        one = self._current()
        return one.refusal if one else None

    def learn(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """The backend answered 400 or above.

        Return if another request may succeed; else raise the error to report.
        """
        builder = self._builder
        target = builder.target
        rename = RENAMES[builder.api]
        error = read_failure(status, headers, body, target.model, target.state.identity, rename)
        self._learn(status, error, body)

    def learn_inside(self, error: AntiphonError) -> None:
        """The answer was this error.

        Return if another request may succeed; else raise the error to report.
        """
        status, body = (isinstance(error, BackendError) and error.refusal) or (0, b"")
        if is_overflow(error):
            self._learn(status, too_long(), body)
        elif status in REJECTED:
            self.learn(status, {}, body)
        else:
            self._learn(status, error, body)

    def _learn(self, status: int, error: AntiphonError, body: bytes) -> None:
        builder = self._builder
        target = builder.target
        sent = builder.body
        if (first := self.first) is not None:
            raise first
        if is_overflow(error):
            if self._learns_window(status, body):
                return
            if not builder.shortens_next():
                raise error
            return
        if error.code == UNOPENED and self._has_blobs and not self.is_without_blobs:
            self.is_without_blobs = True
            return
        if self._learns_schema(status, body) or self._repeats(error):
            return
        if self._learns_limit(status, error, body):
            return
        name = self._refused_name(status, body)
        if name is None and self._falls_back(status, body):
            return
        self._count += 1
        retained = self.lessons()
        if name in retained:
            name = NEXT_LESSON.get(name)
        if name is None or name in retained or self._count > MOST:
            self._simplify(status, error, body)
        else:
            words = own_words(body, sent)
            target.learn(
                name, words, EVERYONE if is_credible(status, words, name, sent) else builder.tenant
            )

    def _repeats(self, error: AntiphonError) -> bool:
        """Return whether to send the request again unchanged: the service could not parse
        the model's call.
        """
        if error.code != UNPARSED or self._is_repeated:
            return False
        self._is_repeated = True
        return True

    def _refused_name(self, status: int, body: bytes) -> str | None:
        builder = self._builder
        if builder.api == "responses":
            return refused_field(status, body, builder.body, builder.request.include)
        return refused_parameter(status, body, builder.body)

    def _falls_back(self, status: int, body: bytes) -> bool:
        """Whether a backend with an apparent Responses API rejected a request that may
        succeed over Chat.

        The rejected parameter is not sent to that API any more once Chat has succeeded.
        """
        builder = self._builder
        if status not in REJECTED or builder.api == "chat" or not builder.target.state.is_probed:
            return False
        doubtful = extras(builder.request, builder.items)
        self._suspects = builder.target, refused_types(body, doubtful)
        self.goes_by_chat = bool(doubtful)
        return self.goes_by_chat

    @property
    def _has_blobs(self) -> bool:
        """Whether the backend was sent reasoning that it had sealed itself."""
        builder = self._builder
        return builder.api == "responses" and any(
            "encrypted_content" in item for item in builder.body["input"]
        )

    def _rejected_limit(self, status: int) -> int | None:
        """Return the limit of the output of a request of another API, if it was rejected."""
        builder = self._builder
        if status not in REJECTED or not isinstance(builder.request, TranslatedRequest):
            return None
        return output_cap(builder.body)

    def _learns_limit(self, status: int, error: AntiphonError, body: bytes) -> bool:
        """Return whether a request of another API is sent again with a lower limit of its output:
        its client names that of another model.
        """
        builder = self._builder
        cap = self._rejected_limit(status)
        if cap is None or is_unsupported(spoken(body)):
            return False
        words = own_words(body, builder.body)
        limit = stated_limit(words, cap)
        tenant = EVERYONE
        if limit is None:  # a number that may be from the request says nothing about others
            limit = stated_limit(error.message, cap)
            tenant = builder.tenant
        if limit is None or self._count >= MOST:
            return False
        self._count += 1
        builder.target.learn(f"{OUTPUT_LESSON}{limit}", words, tenant)
        return True

    def _learns_window(self, status: int, body: bytes) -> bool:
        """Return whether a request is sent again because its prompt fits the window, and only the
        limit of its output does not. Without it, the client would compact a short conversation.
        """
        builder = self._builder
        cap = self._rejected_limit(status)
        if cap is None:
            return False
        words = own_words(body, builder.body)
        window = stated_window(words, cap, request_tokens(builder.body))
        lesson = f"{WINDOW_LESSON}{window}"
        if window is None or lesson in self.lessons() or self._count >= MOST:
            return False
        self._count += 1
        builder.target.learn(lesson, words)
        return True

    def _learns_schema(self, status: int, body: bytes) -> bool:
        """Return whether a schema error teaches what to omit; without a lesson, services report it
        to their client.

        Each lesson removes something from the schemas, so the retries end.
        """
        builder = self._builder
        if builder.api == "responses" or not builder.target.dialect.checks_answers:
            return False
        lesson = refused_schema(status, body, builder.body)
        if lesson is not None:
            # A guess from the schemas of this request says nothing about those of other tenants.
            tenant = EVERYONE if is_named(body, lesson) else builder.tenant
            builder.target.learn(lesson, own_words(body, builder.body), tenant)
        return lesson is not None

    # A refusal that nothing explains.

    def _simplify(self, status: int, error: AntiphonError, body: bytes) -> None:
        """Send the next request in its plainest form. Raises the error if that does not help."""
        builder = self._builder
        is_explained = builder.api == "responses" and refused_types(
            body, extras(builder.request, builder.items)
        )
        if self._is_simplified or is_explained:
            raise error
        refusal = status, error, body
        sent = builder.body, builder.api
        after = plainest(
            builder.target, builder.tenant, builder.request, sent, self._current(), refusal
        )
        if after is None:
            raise error
        self._is_simplified = True
        self._simplified = after

    def _current(self) -> Simplified | None:
        """Return what is simplified for the backend in use."""
        one = self._simplified
        return one if one is not None and one.target is self._builder.target else None
