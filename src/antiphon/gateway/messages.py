"""Requests of Anthropic's Messages API as responses: what the endpoints read, and how the answer is
written.

A request becomes one for a response (`translation/from_messages`), which runs as any other; its
events or its items become the answer (`translation/to_messages`). The first request of this API
loads this module.
"""

from collections.abc import Callable, Iterable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from antiphon.access.limits import check_model
from antiphon.access.weight import weight_of
from antiphon.gateway.gateway import Gateway
from antiphon.gateway.message_diagnostics import MessageDiagnostics
from antiphon.objects.pages import JsonObject
from antiphon.protocol.items.messages import Reasoning
from antiphon.protocol.messages.decoding import decode_count, decode_create
from antiphon.protocol.messages.errors import Size
from antiphon.protocol.messages.model_names import model_of
from antiphon.protocol.messages.requests import Conversation
from antiphon.protocol.requests import TranslatedRequest
from antiphon.protocol.response import Response
from antiphon.runs.run import Run
from antiphon.storage.records.tenants import ApiKey
from antiphon.translation.from_messages.request import read_request
from antiphon.translation.from_messages.view import Call, MessagesView, read_call
from antiphon.translation.to_chat_completions.tokens import BYTES_PER_TOKEN, text_bytes
from antiphon.translation.to_messages.blocks import Blocks
from antiphon.translation.to_messages.encoder import MessagesEncoder
from antiphon.translation.to_messages.frames import PING
from antiphon.translation.to_messages.message import message_of, token_count
from antiphon.upstream.context_window import context_window

__all__ = ["PING", "MessageAnswer", "MessageReader", "MessageRequest"]

USUAL_RATIOS = (0.25, 4.0)
"""A model's ratio of counted to estimated tokens is within these: others are a fault of a count."""

LEARNED = 0.25
"""How much of a new ratio counts, besides those before."""

MOST_MODELS = 1000
"""Models of which ratios are kept."""


Headers = Iterable[tuple[bytes, bytes]]


class TokenRatios:
    """For each model, how many tokens its backend counts for one that was estimated from the size
    of a request.
    """

    def __init__(self) -> None:
        self._ratios: dict[str, float] = {}

    def estimate(self, model: str, tokens: int) -> int:
        """Return the likely tokens of a prompt; `tokens` are those by its size."""
        return max(1, round(tokens * self._ratios.get(model, 1.0)))

    def knows(self, model: str) -> bool:
        """Whether a backend has counted a prompt of this model."""
        return model in self._ratios

    def learn(self, model: str, tokens: int, counted: int) -> None:
        """Learn from a prompt how its backend counts."""
        least, most = USUAL_RATIOS
        if not tokens or not least <= counted / tokens <= most:
            return
        before = self._ratios.pop(model, counted / tokens)
        self._ratios[model] = before + LEARNED * (counted / tokens - before)
        if len(self._ratios) > MOST_MODELS:
            del self._ratios[next(iter(self._ratios))]


class MessageRequest(Struct, frozen=True):
    """A request, as the response that it asks for."""

    request: TranslatedRequest
    view: MessagesView
    model: str
    """The model by the name that the client used."""
    size: int
    """The tokens of the prompt, estimated from its size."""


class MessageAnswer:
    """The answer of a run to a request. `ratios` learn from it."""

    def __init__(
        self,
        run: Run,
        wanted: MessageRequest,
        ratios: TokenRatios,
        diagnostics: MessageDiagnostics,
    ) -> None:
        self.run = run
        self._wanted = wanted
        self._ratios = ratios
        self._diagnostics = diagnostics
        self._blocks = Blocks(view=wanted.view, sealed=run.sealed, unseal=run.plan.unseal)

    def encoder(self, request_id: str) -> MessagesEncoder:
        """Return what writes the stream."""
        encoder = MessagesEncoder(self._blocks, self._wanted.model, self._tokens, request_id)
        if self._wanted.view.diagnoses:
            encoder.diagnostics = self._diagnosed
        return encoder

    def end(self, encoder: MessagesEncoder) -> None:
        """Set what the end of the stream says: the run is over."""
        self._learn()
        encoder.stop_sequence = self.run.stop_sequence
        encoder.is_window_full = self._is_window_full
        if self.run.response.status == "failed":
            encoder.size = self.size

    def message(self, response: Response) -> JsonObject:
        """Return the finished response as a message."""
        self._learn()
        return message_of(
            response,
            self._blocks,
            self._wanted.model,
            stop_sequence=self.run.stop_sequence,
            is_window_full=self._is_window_full,
            diagnostics=self._diagnosed() if self._wanted.view.diagnoses else None,
        )

    def _diagnosed(self) -> JsonObject | None:
        """Return why the prompt cache missed, and let later messages be compared with this one."""
        wanted = self._wanted
        self._diagnostics.note(wanted.view, self.run, wanted.request.model)
        return self._diagnostics.found(wanted.view, self.run, wanted.request.model, self._tokens)

    @property
    def size(self) -> Size | None:
        """How long the prompt is, and how long it can be; None if that is unknown."""
        window = self._window
        return None if window is None else (max(self._tokens, window + 1), window)

    @property
    def _window(self) -> int | None:
        target = self.run.target
        return context_window(target.state, target.model, target.name)

    @property
    def _tokens(self) -> int:
        return self._ratios.estimate(self.run.target.name, self._wanted.size)

    @property
    def _is_window_full(self) -> bool:
        """Whether the answer could not grow because the model's window was full."""
        response = self.run.response
        if response.incomplete_details is None or response.usage is None:
            return False
        window = self._window
        most = self._wanted.request.max_output_tokens
        is_full = window is not None and response.usage.total_tokens >= window
        return is_full and (most is None or response.usage.output_tokens < most)

    def _learn(self) -> None:
        """Learn how the backend counts, unless it was called more than once."""
        plan = self.run.plan
        usage = self.run.response.usage
        if usage is not None and plan.tools is None and not plan.compacts:
            self._ratios.learn(self.run.target.name, self._wanted.size, usage.input_tokens)


class MessageReader:
    """Reads requests of the Messages API."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.ratios = TokenRatios()
        self.diagnostics = MessageDiagnostics(gateway.prompt_memory)

    async def read(self, tenant: str, body: bytes, headers: Headers) -> MessageRequest:
        """Return the request of `POST /v1/messages`; a large one is read in a thread.

        Raises `ClientError` (400) in the words of that API.
        """
        return await self._read(tenant, body, partial(_create, body, _call(headers)))

    async def read_count(self, tenant: str, body: bytes, headers: Headers) -> MessageRequest:
        """Return the request of `POST /v1/messages/count_tokens`; see `read`."""
        return await self._read(tenant, body, partial(_count, body, _call(headers)))

    async def _read(
        self, tenant: str, body: bytes, read: Callable[[], MessageRequest]
    ) -> MessageRequest:
        wanted = await self._gateway.offload(tenant, len(body), read)
        models = self._gateway.messages_models
        if not models:
            return wanted
        model = model_of(wanted.model, models, self._gateway.models.names())
        return replace(wanted, request=replace(wanted.request, model=model))

    async def count(
        self, wanted: MessageRequest, tenant: str, key: ApiKey | None, size: int
    ) -> tuple[JsonObject, bool]:
        """Return the answer to a request of `size` bytes for a count, and whether it is exact.

        No model is called: the backend's tokenizer counts, or the tokens are estimated as the
        model's prompts before have shown. Clients count two dozen parts of a prompt at once, so
        that uses up no limit of the `key`. Raises `ClientError` for a model that the key does not
        allow.
        """
        if key is not None:
            check_model(key, wanted.request.model)
        counted = await self._gateway.count_tokens(wanted.request, tenant, size)
        tokens = counted.input_tokens
        if not counted.is_exact and self.ratios.knows(wanted.request.model):
            tokens = self.ratios.estimate(wanted.request.model, wanted.size)
        return token_count(tokens, wanted.view), counted.is_exact


def _call(headers: Headers) -> Call:
    return read_call((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)


def _create(body: bytes, call: Call) -> MessageRequest:
    return _wanted(decode_create(body), call, body)


def _count(body: bytes, call: Call) -> MessageRequest:
    wanted = _wanted(decode_count(body), call, body)
    return replace(wanted, request=replace(wanted.request, stream=None))


def _wanted(decoded: Conversation, call: Call, body: bytes) -> MessageRequest:
    tokens = weight_of(body).input_tokens
    read = read_request(decoded, call, tokens)
    items = read.request.input
    thought = [
        one.encrypted_content or ""
        for one in (items if isinstance(items, list) else ())
        if isinstance(one, Reasoning)
    ]
    tokens -= sum(map(text_bytes, thought)) // BYTES_PER_TOKEN
    if read.view.edits is not None:
        tokens -= read.view.edits.cleared_tokens
    return MessageRequest(read.request, read.view, read.request.model, max(1, tokens))
