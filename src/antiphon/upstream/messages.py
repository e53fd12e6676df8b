"""A server of Anthropic's Messages API, as a Chat Completions backend."""

import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from antiphon.errors import ClientError
from antiphon.protocol.json_pieces import encoded
from antiphon.protocol.json_slices import decoded
from antiphon.translation.from_messages_api.answer import MessagesAnswer
from antiphon.translation.from_messages_api.errors import chat_rejection, message_in
from antiphon.translation.to_chat_completions.tokens import COUNTING
from antiphon.translation.to_messages_api.form import MessagesForm, after_rejection, form_of
from antiphon.translation.to_messages_api.request import count_request, messages_request
from antiphon.upstream.backend import Backend, Reply
from antiphon.upstream.native import NativeBackend, by_size, once, read_error, refusal, translated

CHAT = "/chat/completions"
MESSAGES = "/messages"
COUNT = "/messages/count_tokens"

JSON = "application/json"
STREAM = "text/event-stream"

MOST_FORMS = 1_000
"""Models with a form of their own; clients can invent names for a gateway that accepts any."""

MOST_TRIES = 6
"""Requests for one answer: a backend that rejects more forms has another problem."""


class MessagesBackend(NativeBackend):
    """The Messages API of a server, as a Chat Completions backend.

    All paths but `CHAT` and `COUNTING`, and the list of models, go to `backend`, the same server by
    its base URL. `listed` returns the object of a model in the backend's list, empty if it is not
    there. What a rejection teaches about the form of requests to a model is kept once another form
    was accepted: an error can quote what a client wrote.
    """

    def __init__(self, backend: Backend, listed: Callable[[str], Mapping[str, Any]]) -> None:
        super().__init__(backend)
        self._listed = listed
        self._forms: dict[str, MessagesForm] = {}
        """The forms that rejections taught, by the names of models."""

    async def post(self, path: str, body: bytes) -> Reply:
        """See `Backend.post`."""
        if path == CHAT:
            return await self._chat(body)
        return await (self._counted(body) if path == COUNTING else self.backend.post(path, body))

    async def _chat(self, body: bytes) -> Reply:
        """Call the model; send the request in another form while the backend rejects the form."""
        size = len(body)
        chat: dict[str, Any] = await by_size(size, decoded, body)
        name = str(chat.get("model"))
        form = begun = self._form(name)
        for left in reversed(range(MOST_TRIES)):
            try:
                sent = await by_size(size, messages_request, chat, form)
            except ClientError as error:
                return refusal(error.message, error.code, error.param)
            reply = await self.backend.post(MESSAGES, await by_size(size, encoded, sent, size))
            if reply.status < 400:
                if form != begun:
                    self._save(name, form.lasting)
                return _translated(reply, chat)
            failure = await read_error(reply)
            after = (
                after_rejection(form, message_in(failure), chat, sent)
                if reply.status == 400 and left
                else None
            )
            if after is None:
                break
            form = after
        return Reply(reply.status, reply.headers, once(chat_rejection(failure)))

    async def _counted(self, body: bytes) -> Reply:
        """Count the tokens of a request."""

        def counting() -> bytes:
            chat: dict[str, Any] = decoded(body)
            return encoded(count_request(chat, self._form(str(chat.get("model")))), len(body))

        try:
            return await self.backend.post(COUNT, await by_size(len(body), counting))
        except ClientError as error:
            return refusal(error.message, error.code, error.param)

    def _form(self, name: str) -> MessagesForm:
        return self._forms.get(name) or form_of(name, self._listed(name))

    def _save(self, name: str, form: MessagesForm) -> None:
        if len(self._forms) >= MOST_FORMS:
            self._forms.clear()
        self._forms[name] = form


def _translated(reply: Reply, chat: Mapping[str, Any]) -> Reply:
    usage = bool((chat.get("stream_options") or {}).get("include_usage"))
    answer = MessagesAnswer(f"chatcmpl-{uuid.uuid4().hex}", int(time.time()), with_usage=usage)
    kind = reply.content_type
    is_stream = kind == STREAM or (bool(chat.get("stream")) and kind != JSON)
    return translated(reply, answer, is_stream=is_stream)
