"""One request and its answer, translated without I/O: you manage the connection to the backend,
this class the protocol.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec
from msgspec.structs import replace

from antiphon import ids
from antiphon.access.keyring import Keyring
from antiphon.access.unseal import Unsealer
from antiphon.history.history_errors import no_input, previous_not_found
from antiphon.protocol.events import Event
from antiphon.protocol.response import Response
from antiphon.protocol.validation.call_rules import call_ids, check_calls
from antiphon.protocol.validation.validate import decode_request
from antiphon.runs.prepare import open_response, view_of
from antiphon.translation.dialects.table import find_dialect
from antiphon.translation.from_chat.reader import ChatStream
from antiphon.translation.to_chat_completions.quotations import mentions
from antiphon.translation.to_chat_completions.request import configured, normalise_input, to_chat
from antiphon.translation.tool_mapping.choice import allowed_names
from antiphon.translation.tool_mapping.offering import toolbox_of
from antiphon.translation.wire import AnswerReader, conclude
from antiphon.translation.writer import ResponseWriter, output_text


class Translator:
    """Turns a Responses request into `chat_request`, and the bytes that a backend answers into events.

    Send `chat_request` as JSON to the backend's `/chat/completions`, `feed` the bytes of its answer as they arrive,
    then `finish`; each returns the events that became certain. `is_json` says that the answer is one JSON object
    and no event stream. `dialect` names the backend's family (see the reference), `generic` suits most. `keyring`
    encrypts the state that a client stores (`encrypted_content`, signatures in the ids of calls); without one only this
    process can decrypt it.

    Raises `ClientError` for a request that the API rejects, and for one with `previous_response_id`, because nothing is
    stored here. Nothing that a backend sends raises an error.

    >>> from antiphon.translation import Translator
    >>> translator = Translator({"model": "m", "input": "Hi"}, is_json=True)
    >>> translator.chat_request["messages"]
    [{'role': 'user', 'content': 'Hi'}]
    >>> events = translator.feed(b'{"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}')
    >>> translator.finish()[-1].type, translator.response.output_text
    ('response.completed', 'Hello')
    """  # noqa: E501 - a table, a diagram or an example

    def __init__(
        self,
        request: Mapping[str, Any],
        *,
        dialect: str = "generic",
        is_json: bool = False,
        keyring: Keyring | None = None,
        new_id: ids.NewId = ids.new_id,
        now: ids.Clock = ids.now,
    ) -> None:
        family = find_dialect("", set(), "", dialect)
        decoded = decode_request(msgspec.json.encode(request), family.passthrough.__contains__)
        if decoded.previous_response_id is not None:
            raise previous_not_found(decoded.previous_response_id)
        items = normalise_input(decoded.input, new_id)
        if not items:
            raise no_input()
        check_calls(items)
        keyring = keyring or _of_this_process()
        toolbox = toolbox_of(configured(decoded, items), items, family)
        unseal = Unsealer(keyring, "", refuses=False)
        self.chat_request = to_chat(
            decoded, items, family, toolbox=toolbox, unseal=unseal, token=unseal.token
        )
        view = view_of(decoded)
        self._writer = ResponseWriter(
            response=open_response(decoded, new_id("resp"), int(now())),
            new_id=new_id,
            now=now,
            seal=lambda state: keyring.seal({"family": family.name, **state}, ""),
            view=view
            if view.encrypted
            else replace(view, signed_ids=True),  # nothing is stored here
        )
        chat = ChatStream(
            self._writer,
            offers=toolbox.offers,
            allowed=allowed_names(toolbox, decoded.tool_choice, family),
            call_ids=call_ids(items),
            only_one=decoded.parallel_tool_calls is False,
            text_calls=toolbox.in_text,
            is_quoted=lambda tag: mentions(msgspec.json.encode(self.chat_request), tag),
            needs_reason=not family.ends_without_finish_reason,
        )
        self._answer = AnswerReader(chat, is_json)
        self._writer.start()

    @property
    def response(self) -> Response:
        """The response so far; final after `finish`."""
        response = self._writer.response
        return replace(response, output_text=output_text(response))

    def feed(self, data: bytes) -> list[Event]:
        """Add bytes of the backend's answer."""
        self._answer.feed(data)
        return self._writer.take()

    def finish(self) -> list[Event]:
        """End the answer; the last event returned is the terminal one."""
        conclude(self._writer, self._answer.finish())
        self._writer.end()
        return self._writer.take()


@cache
def _of_this_process() -> Keyring:
    return Keyring()
