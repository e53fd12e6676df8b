"""The complete, stateful OpenAI Responses API over any Chat Completions backend.

| You want | Take |
|---|---|
| the API in your program, without a server | `Responses` |
| one request and its answer translated, without I/O | `Translator` |
| chunks to events, by pieces | `ChatStream`, `ResponseWriter`, `conclude`; `decode_chunk`, `EventDecoder`, `encode` |
| requests to Chat Completions, piece by piece | `decode_request`, `normalise_input`, `tell_dialect`, `to_chat` |
| the API as an ASGI application | `antiphon.server.app.create_app` |
| any server's event stream judged | `antiphon.testing.check_event_stream` |

Below: `protocol` is the two APIs as data, `stream` makes events, `chat` makes requests, `engine` joins them with
`backends` and `store`, `server` and `cli` put them on the wire. Nothing imports upwards.
"""

from antiphon.chat.dialects import Dialect, tell_dialect
from antiphon.chat.input import normalise_input
from antiphon.chat.request import to_chat
from antiphon.embed import Responses
from antiphon.errors import AntiphonError, BackendError, ClientError, ConfigError, StoreError
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import Response
from antiphon.protocol.validate import decode_request
from antiphon.stream.answer import conclude
from antiphon.stream.chat import ChatStream
from antiphon.stream.decode import decode_chunk
from antiphon.stream.sse import EventDecoder, encode
from antiphon.stream.writer import ResponseWriter
from antiphon.translate import Translator
from antiphon.version import __version__

__all__ = [
    "AntiphonError",
    "BackendError",
    "ChatStream",
    "ClientError",
    "ConfigError",
    "CreateResponse",
    "Dialect",
    "EventDecoder",
    "Response",
    "ResponseWriter",
    "Responses",
    "StoreError",
    "Translator",
    "__version__",
    "conclude",
    "decode_chunk",
    "decode_request",
    "encode",
    "normalise_input",
    "tell_dialect",
    "to_chat",
]
