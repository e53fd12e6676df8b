"""Probes one of a backend's models, within limits; the result is a `Measurement`."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec

from antiphon.errors import BackendError
from antiphon.translation.dialects.dialect import Dialect
from antiphon.translation.dialects.profile import ModelProfile
from antiphon.translation.learned import refused_parameter
from antiphon.upstream.backend import Backend
from antiphon.upstream.backend_state import CHAT_COMPLETIONS, BackendState
from antiphon.upstream.probing import descriptions, reports, window
from antiphon.upstream.probing.answers import ProbeAnswer
from antiphon.upstream.probing.descriptions import Description, describe
from antiphon.upstream.probing.findings import Body, Findings, Probe
from antiphon.upstream.probing.measurement import Measurement
from antiphon.upstream.probing.probes import MOST_REQUESTS, MOST_TOKENS, PROBES, weaknesses
from antiphon.upstream.scripted import to_completion

LARGEST = 4 * 1024 * 1024
"""Bytes of an answer that are read."""

PATIENCE = 180.0
"""Seconds that one answer can take."""

LOADING = 600.0
"""Seconds that the first answer can take: the model may have to be loaded."""

OWN = frozenset(
    {"temperature", "max_tokens", "max_completion_tokens", "stream_options", "stream.always"}
)
"""Lessons about what every question has, so a backend that teaches one says nothing about the
question.
"""

MOST_FAILURES = 3
"""Consecutive useless answers after which no more probes are sent."""

SCRIPTED = "demo"
"""The dialect of the scripted model, which ignores instructions."""

AGAIN = 500
"""Status of a rejection or an accident: such a request is repeated once."""


Send = Callable[[Callable[[], Awaitable[ProbeAnswer]]], Awaitable[ProbeAnswer]]
"""Sends a request when it is allowed: at once, or once the backend is idle."""


async def at_once(send: Callable[[], Awaitable[ProbeAnswer]]) -> ProbeAnswer:
    """Send without waiting."""
    return await send()


async def stated(state: BackendState, model: str) -> tuple[Description, bool]:
    """Return a backend's reports about a model, and whether a paid service answers for it.

    Generates nothing.
    """
    answers = {
        question.key: await reports.run_probe(state.backend, question, model)
        for question in descriptions.QUESTIONS.get(state.dialect.name, ())
    }
    found = describe(state.dialect.name, model, state.listed(model), answers)
    return found, state.dialect.name == "ollama" and descriptions.is_remote(model, answers)


class Interview:
    """Measures one model of a backend.

    `watch` is called with the name of each probe before it is sent.
    """

    def __init__(
        self,
        state: BackendState,
        model: str,
        send: Send = at_once,
        watch: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._state = state
        self._model = model
        self._send = send
        self._watch = watch
        lessons = state.lessons.get(model)
        self._dialect: Dialect = state.dialect.taught(lessons.refused) if lessons else state.dialect
        self._requests = self._tokens = self._allowed = 0

    async def run(self, *, measures_window: bool = False) -> Measurement:
        """Send all questions. Raises `BackendError` if the backend does not answer the first
        one.
        """
        described, _ = await stated(self._state, self._model)
        found = Findings(self._dialect, described.profile.known(), dict(described.sources))
        failures = 0
        for number, probe in enumerate(PROBES):
            body = probe.send_request(found)
            if body is None:
                continue
            answer = await self._answer(probe, {**found.quiet, **body})
            if answer is None:
                break
            if number == 0 and not answer.is_good:
                raise _unanswered(self._state, self._model, answer)
            failures = 0 if answer.is_good or answer.is_refusal else failures + 1
            found.add(probe.judge(answer, found), probe.name)
            if failures == MOST_FAILURES:
                break
        described, _ = await stated(
            self._state, self._model
        )  # again, because the model is loaded now
        found.facts = {**found.facts, **described.profile.known()}
        found.evidence.update(described.sources)
        if self._state.dialect.name != SCRIPTED:
            found.add(weaknesses(found.notes), "role-system, call")
        if measures_window:
            await self._measure_window(found)
        return Measurement(
            profile=ModelProfile(**found.facts),
            digest=described.digest,
            evidence=found.evidence,
            requests=self._requests,
            tokens=self._tokens,
        )

    async def _answer(self, probe: Probe, body: Body) -> ProbeAnswer | None:
        """Return the answer to a question; None once the limit is reached."""
        for _ in range(2):
            if self._requests >= MOST_REQUESTS or self._allowed + probe.tokens > MOST_TOKENS:
                return None
            answer = await self._post(probe.name, body, probe.tokens)
            if answer.status != AGAIN:
                break
        return answer

    async def _measure_window(self, found: Findings) -> None:
        steps = window.measure(found.facts.get("context_window"))
        try:
            body = next(steps)
            while True:
                body = steps.send(
                    await self._post("window", {**found.quiet, **body}, window.ANSWER)
                )
        except StopIteration as end:
            if end.value is not None:
                found.add({"context_window": end.value}, "measured")

    async def _post(self, name: str, body: Body, tokens: int) -> ProbeAnswer:
        self._watch(name)
        while True:
            sent = self._with_own(body, tokens)
            patience = PATIENCE if self._requests else LOADING
            self._requests += 1
            self._allowed += tokens
            answer = await self._send(
                partial(post, self._state.caller, sent, patience, self._state.chat_path)
            )
            self._tokens += answer.prompt_tokens + answer.answer_tokens
            rejected = refused_parameter(answer.status, msgspec.json.encode(answer.body), sent)
            if rejected not in OWN or self._requests >= MOST_REQUESTS:
                return answer
            self._dialect = self._dialect.taught(frozenset({rejected}))

    def _with_own(self, body: Body, tokens: int) -> Body:
        """Return the request to the model, with a limit and with sampling, as far as the backend
        accepts them.
        """
        accepts = self._dialect.accepts
        limit = self._dialect.max_tokens
        own: Body = {limit: tokens} if limit else {}
        own |= {"temperature": 0} if "temperature" in accepts else {}
        if self._dialect.always_streams:
            own |= {"stream": True, "stream_options": {"include_usage": True}}
        sent = {"model": self._model, "stream": False, **own, **body}
        return {
            name: value
            for name, value in sent.items()
            if name != "stream_options" or name in accepts
        }


async def post(
    backend: Backend, body: Body, patience: float, path: str = CHAT_COMPLETIONS
) -> ProbeAnswer:
    """Return the answer to one request; status 0 if none arrives in time or the connection
    fails.
    """
    try:
        async with asyncio.timeout(patience):
            reply = await backend.post(path, msgspec.json.encode(body))
            try:
                raw = await reply.read(LARGEST)
            finally:
                await reply.close()
    except (BackendError, TimeoutError):
        return ProbeAnswer(0)
    return ProbeAnswer(
        reply.status, _joined(raw) if body.get("stream") and reply.status == 200 else _json(raw)
    )


def _joined(raw: bytes) -> Any:
    """Return the completion that the chunks of an event stream add up to."""
    if not raw.lstrip().startswith((b"data:", b":", b"event:")):
        return _json(raw)  # it answered without a stream
    lines = [line[5:].strip() for line in raw.splitlines() if line.startswith(b"data:")]
    chunks = [
        chunk for line in lines if line != b"[DONE]" and isinstance(chunk := _json(line), dict)
    ]
    try:
        return to_completion(chunks)
    except (TypeError, AttributeError, KeyError):
        return None  # chunks of an unknown shape


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _unanswered(state: BackendState, model: str, answer: ProbeAnswer) -> BackendError:
    reason = f"answered with status {answer.status}" if answer.status else "did not answer"
    return BackendError(
        f"The backend '{state.name}' ({state.backend.url}) {reason} for the model '{model}', "
        "so the model was not probed. Check that the backend runs and serves this model.",
        status=503,
    )
