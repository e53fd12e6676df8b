"""The backend of the model `demo`."""

from typing import Any

from antiphon import ids
from antiphon.errors import ClientError
from antiphon.ids import Clock
from antiphon.protocol.passthrough import ChatCompletionRequest, EmbeddingsRequest
from antiphon.protocol.validation.validate import fit
from antiphon.upstream.demo.checks import check
from antiphon.upstream.demo.chunks import to_answer
from antiphon.upstream.demo.embeddings import embed
from antiphon.upstream.demo.prompt import words_of
from antiphon.upstream.demo.script import say
from antiphon.upstream.scripted import Answer, ScriptedBackend

NAME = "demo"


class DemoBackend(ScriptedBackend):
    """A scripted Chat Completions model that says that it is one.

    The same request always gets the same answer, but for `created`. It streams word by word, `delay` seconds apart;
    reasons where `reasoning_effort` asks for it; calls the tools that the last user message names, or else the first
    one, with arguments that fit their schema; quotes a tool's output; keeps to `response_format`, `stop` and the
    token limit, a word being a token; and makes up `logprobs`. `[refuse]` in the user's text gets a refusal.
    """

    def __init__(self, *, delay: float = 0.0, now: Clock = ids.now) -> None:
        super().__init__(self._chat, name=NAME, models=[NAME], delay=delay)
        self._now = now

    def answer(self, path: str, request: dict[str, Any]) -> Answer:
        """Return the answer to a request for chat completions, for a count of its tokens, or for embeddings."""
        self.requests.clear()  # it serves for days, where a script is for a test that looks at them
        if path == "/chat/completions/input_tokens":
            fit(request, ChatCompletionRequest)
            _check_model(request)
            return {"object": "response.input_tokens", "input_tokens": words_of(request["messages"])}
        if path == "/embeddings":
            fit(request, EmbeddingsRequest)
            _check_model(request)
            return embed(request)
        return super().answer(path, request)

    def _chat(self, request: dict[str, Any]) -> Answer:
        fit(request, ChatCompletionRequest)
        _check_model(request)
        check(request)
        return to_answer(say(request), request, int(self._now()))


def _check_model(request: dict[str, Any]) -> None:
    if request["model"] != NAME:
        raise ClientError(
            f"The model '{request['model'][:100]}' does not exist; the only one here is '{NAME}'.",
            status=404,
            code="model_not_found",
            param="model",
        )
