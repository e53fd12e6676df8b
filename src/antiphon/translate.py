"""One request and its answer, translated without I/O: you own the connection to the backend, this the protocol."""

from collections.abc import Mapping
from typing import Any

import msgspec

from antiphon import ids
from antiphon.chat.dialects import tell_dialect
from antiphon.chat.input import normalise_input
from antiphon.chat.request import to_chat
from antiphon.chat.sealed import seal
from antiphon.engine.history import nothing_given, previous_not_found
from antiphon.engine.response import open_response, view_of
from antiphon.protocol.calls import call_ids, check_calls
from antiphon.protocol.events import Event
from antiphon.protocol.response import Response
from antiphon.protocol.validate import decode_request
from antiphon.stream.answer import AnswerReader, conclude
from antiphon.stream.chat import ChatStream
from antiphon.stream.writer import ResponseWriter


class Translator:
    """Turns a Responses request into `chat_request`, and the bytes that a backend answers into events.

    Send `chat_request` as JSON to the backend's `/chat/completions`, `feed` the bytes of its answer as they come,
    then `finish`; each returns the events that became certain. `is_json` says that the answer is one JSON object
    and no event stream. `dialect` names the backend's family (see the reference), `generic` suits most.

    Raises `ClientError` for a request that the API would refuse, and for one that goes on from a stored response,
    since nothing is stored here; nothing that a backend sends raises.
    """

    def __init__(
        self,
        request: Mapping[str, Any],
        *,
        dialect: str = "generic",
        is_json: bool = False,
        new_id: ids.NewId = ids.new_id,
        now: ids.Clock = ids.now,
    ) -> None:
        decoded = decode_request(msgspec.json.encode(request))
        family = tell_dialect("", set(), "", dialect)
        if decoded.previous_response_id is not None:
            raise previous_not_found(decoded.previous_response_id)
        items = normalise_input(decoded.input, new_id)
        if not items:
            raise nothing_given()
        check_calls(items)
        self.chat_request = to_chat(decoded, items, family)
        self._writer = ResponseWriter(
            response=open_response(decoded, new_id("resp"), int(now())),
            new_id=new_id,
            now=now,
            seal=lambda state: seal({"family": family.name, **state}),
            view=view_of(decoded),
        )
        chat = ChatStream(
            self._writer,
            names=frozenset(tool.name for tool in decoded.tools or ()),
            call_ids=call_ids(items),
            needs_reason=not family.ends_without_finish_reason,
        )
        self._answer = AnswerReader(chat, is_json)
        self._writer.start()

    @property
    def response(self) -> Response:
        """The response as it stands; final after `finish`."""
        return self._writer.response

    def feed(self, data: bytes) -> list[Event]:
        """Take bytes of the backend's answer."""
        self._answer.feed(data)
        return self._writer.take()

    def finish(self) -> list[Event]:
        """Say that no more bytes come; the last event returned is the terminal one."""
        conclude(self._writer, self._answer.finish())
        self._writer.end()
        return self._writer.take()
