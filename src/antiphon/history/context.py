"""The items that the model sees, and those that are stored (specification section 10).

Theory of operation.

A context has two parts, the history and the new input. The history has at most one source, because
the API allows only one of `previous_response_id` and `conversation`:

    recalled        a connection kept the items that the previous response left: nothing is read
    a chain         `previous_response_id`: the items of all responses above it, most of them cached (`chain_cache.py`)
    a conversation  its own copies of items, with the position at which the new ones will follow
    none            the first request; most of these never come here (`runs/prepare.py`)

Four steps build it, and each needs the one before:

1. Load the history. Its extent is compared with the bounds, and memory is reserved, before it is
   read; and again before it is decoded, because only the text shows how wide its characters are.
2. Reject a request with nothing to answer.
3. Add the input. An item gets an id if it has none, and a reference becomes the item that it names
   (`references.py`). The history is searched first, then the store, which can have other items with
   this id.
4. Check that calls and outputs match. A call can be in the history and its output in the input, so
   this comes last.

What holds always:

- `items` is the history, then the input, oldest first. Only `input` is stored with the response: a
  chain of N turns needs the space of N turns, and not of N². A recalled history is stored too,
  because the store does not have it.
- The history is trusted, the input is not. A client could otherwise send an approval request of its
  own, or another version of a stored one, and approve it. So with a history the input contains
  neither an approval request nor the id of a stored item. A call that a client repeats without its
  id is the stored call.
- A prefix is shared with all requests that follow the same response. Its log only grows, and no
  item in it changes.
- `work` only grows. What follows is done in threads once that is large.
- Referenced items count for the same bounds as a history: many small references must not load more
  than one large one.
- The memory account is closed here after an error, otherwise when the response has ended.
"""  # noqa: E501 - a table, a diagram or an example

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

from antiphon.errors import ClientError
from antiphon.history.chain_cache import LONGEST
from antiphon.history.decoding import load_items
from antiphon.history.history_errors import (
    conversation_not_found,
    duplicate_item,
    no_input,
    previous_not_found,
    request_outside_history,
)
from antiphon.history.history_memory import HistoryMemory
from antiphon.history.parts import HistoryParts
from antiphon.history.references import REFERRING, References
from antiphon.history.sent_histories import normalised, read_sent
from antiphon.protocol.items.hosted import McpApprovalRequest
from antiphon.protocol.items.messages import InputItem, ItemReference
from antiphon.protocol.known_inputs import SentItems
from antiphon.protocol.requests import CreateResponse, TranslatedRequest, opening_of
from antiphon.protocol.validation.call_rules import CALLS, check_calls
from antiphon.sharing.memory import Account, weight
from antiphon.sizes import ITEM, LARGE, STORED
from antiphon.storage.operations import conversations, responses
from antiphon.storage.records.responses import StoredItem
from antiphon.translation.signed_calls import SIGNABLE
from antiphon.translation.to_chat_completions.prefix import ModelConversation, Prefix

CHAINABLE = {"completed", "incomplete"}
"""Statuses of a response that can be continued."""


class Context(Struct):
    """The start of a response: the items of the chain, and the new input."""

    history: list[InputItem] = []
    input: list[InputItem] = []
    conversation_end: int | None = None
    """The position in the conversation of the new input."""
    tenant: str = ""
    work: int = 0
    """Bytes of JSON that take as long as its items without those of a chain: see `Offload.run`."""
    is_recalled: bool = False
    """The history is not in the store: it must be stored with the response."""

    prefix: Prefix | None = None
    """The history, if it is a chain."""
    items: ModelConversation = field(default_factory=ModelConversation)
    """All items that the model sees, oldest first: parents' input and output in order, then the new
    input.
    """
    opened: dict[str, dict[str, Any]] = {}
    """What is known of the sealed state in its items: see `Unsealer`."""
    memory: Account | None = None
    """Its account of the process's memory, until `release`; None if it is small."""

    def release(self) -> None:
        """Release its memory when the response has ended."""
        if self.memory is not None:
            self.memory.close()

    @property
    def work_with_chain(self) -> int:
        """Bytes of JSON that now take as long as all items: other requests can extend the chain."""
        return self.work if self.prefix is None else max(self.work, self.prefix.log.work)


async def load_context(
    parts: HistoryParts,
    request: CreateResponse,
    tenant: str,
    recalled: Sequence[StoredItem] | None = None,
    *,
    needs_input: bool = True,
    work: int = 0,
    memory: Account | None = None,
) -> Context:
    """Return the context of any request.

    It holds memory, which must be released when the response has ended.

    `recalled` is the state that the previous response left for the next one, if it is known without
    the store. `work` are the bytes of the request that are to be processed, and `memory` is the
    existing account of the response.

    Raises `ClientError`: `previous_response_not_found`, an unknown conversation and an
    `item_reference` to an unknown item (404), an empty input, and a call or an output without its
    counterpart (specification section 13); and above the bounds, before the data is read. Raises
    `AntiphonError` (503) if no memory is free now.
    """
    memory = memory or Account(parts.memory, tenant)
    context = Context(tenant=tenant, is_recalled=recalled is not None, work=work, memory=memory)
    loading = _Loading(parts, request, context, HistoryMemory(parts.bounds, memory))
    # In this order: see the module.
    try:
        await loading.load_history(recalled)
        # A chain can be continued without a new input; a conversation without items has
        # nothing to continue.
        is_bare = (
            not loading.provided and request.previous_response_id is None and not context.history
        )
        if needs_input and is_bare and not opening_of(request):
            raise no_input()
        await loading.add_input()
        await loading.check()
    except BaseException:
        # No run exists yet that would release it.
        memory.close()
        raise
    return context


class _Loading:
    """The steps that build a context."""

    def __init__(
        self, parts: HistoryParts, request: CreateResponse, context: Context, intake: HistoryMemory
    ) -> None:
        self.provided = request.input or []
        """The new input, as it was received."""
        self._parts = parts
        self._request = request
        self._context = context
        self._intake = intake
        self._is_checked = False

    async def load_history(self, recalled: Sequence[StoredItem] | None) -> None:
        """Load the history before the new input."""
        parts = self._parts
        request = self._request
        context = self._context
        if not isinstance(self.provided, str):
            parts.bounds.check_input(len(self.provided))
        if recalled is not None:
            await self._intake.known(recalled)
            context.work = max(context.work, _size(recalled) // STORED)
            context.history = await load_items(recalled, parts.reads, parts.offload, context.tenant)
        elif request.previous_response_id is not None:
            context.prefix = await _chain(
                request.previous_response_id, parts, context.tenant, self._intake
            )
            context.history = context.prefix.items
        elif request.conversation is not None:
            await self._converse(str(request.conversation_id))

    async def _converse(self, conversation_id: str) -> None:
        parts = self._parts
        context = self._context
        conversation = await parts.store.read(conversations.load, context.tenant, conversation_id)
        if conversation is None:
            raise conversation_not_found(conversation_id)
        await self._intake.measured_conversation(conversation)
        parts.bounds.check_addition(
            conversation, 1 if isinstance(self.provided, str) else len(self.provided)
        )
        stored = await parts.store.read(conversations.items, context.tenant, conversation_id)
        if stored is None:
            raise conversation_not_found(conversation_id)
        await self._intake.read(stored)
        context.work = max(context.work, _size(stored) // STORED)
        context.history = await load_items(stored, parts.reads, parts.offload, context.tenant)
        context.conversation_end = conversation.next_position

    async def add_input(self) -> None:
        """Add the new input with its references resolved."""
        parts = self._parts
        context = self._context
        provided = self.provided
        # Items are counted here, and not characters: a body with a long text is large already.
        if not isinstance(provided, str):
            context.work = max(context.work, len(provided) * ITEM)
        # A long input was kept as raw JSON: what the last request of the conversation already had
        # is not decoded.
        if type(provided) is SentItems:
            is_stored = self._request.store is not False
            sent, items, content_parts = await parts.offload.in_thread(
                context.tenant, read_sent, provided, parts.new_id, is_stored=is_stored
            )
            await self._intake.add(weight(0, content_parts))
            # The known beginning was checked with that request, and has its messages:
            # only the rest is new.
            if sent is not None:
                context.input = items
                context.opened = sent.opened
                context.items = ModelConversation(items, sent.prefix, provided.texts)
                self._is_checked = True
                return
        else:
            items, content_parts = await parts.offload.run(
                context.tenant, context.work, normalised, provided, parts.new_id
            )
            await self._intake.add(weight(0, content_parts))
        # Some clients send the calls of the last answer again, together with their outputs.
        if (
            context.history
            and not isinstance(provided, str)
            and not CALLS.keys().isdisjoint(map(type, items))
        ):
            from antiphon.history.repeated_calls import without_repeated  # noqa: PLC0415 - few inputs contain calls

            items = without_repeated(provided, items, context.history, context.prefix)
        is_conversation = context.conversation_end is not None
        refers = References(
            parts, context.tenant, context.history, self._intake, is_conversation=is_conversation
        )
        # One after the other: each reference is counted before the next one is loaded.
        for item in items:
            is_whole = not isinstance(item, REFERRING)
            context.input.append(item if is_whole else await refers.resolve(item))
            if type(item) in SIGNABLE:
                await refers.recall_signature(item)
        # The translated turns of a chain are shared with other requests, so a thread
        # builds its own.
        prefix = context.prefix if context.work <= LARGE else None
        context.items = ModelConversation([*context.history, *context.input], prefix)
        # With a prefix, the items before it are already translated, so their number does not count.
        if context.prefix is None:
            context.work = max(context.work, len(context.items) * ITEM)

    async def check(self) -> None:
        """Raise `ClientError` (400) if the new input does not match the history."""
        request = self._request
        context = self._context
        is_part = isinstance(request, TranslatedRequest) and request.is_part
        if not (self._is_checked or is_part):
            await self._parts.offload.run(context.tenant, context.work, _check, request, context)


def _size(stored: Sequence[StoredItem]) -> int:
    return sum(len(item.body) for item in stored)


def _check(request: CreateResponse, context: Context) -> None:
    """Raise `ClientError` (400) if the new input does not match the history."""
    request_input = request.input
    if (
        request_input
        and (context.history or request.conversation is not None)
        and isinstance(request_input, list)
    ):
        _check_new(request_input, context, may_refer=request.conversation is None)
    if context.prefix is not None:
        context.prefix.check_calls(context.input)
    else:
        check_calls(context.items)


def _check_new(items: Sequence[InputItem], context: Context, *, may_refer: bool) -> None:
    """Raise `ClientError` (400) if an item of the input would replace or duplicate an approval
    request of the history.

    Otherwise a client could repeat an approval request with other arguments, or invent one, and
    approve it at once. An `item_reference` refers to the stored item, unchanged.
    """
    if any(type(item) is McpApprovalRequest for item in items):
        raise request_outside_history()
    named = {
        item.id for item in items if item.id and not (may_refer and type(item) is ItemReference)
    }
    if named and (known := next((item.id for item in context.history if item.id in named), None)):
        raise duplicate_item(str(known))


async def _chain(
    response_id: str, parts: HistoryParts, tenant: str, intake: HistoryMemory
) -> Prefix:
    store = parts.store
    parent = await store.read(responses.load, tenant, response_id, few=True)
    if parent is None or not parent.is_stored:
        raise previous_not_found(response_id)
    if parent.status not in CHAINABLE:
        if not (await store.measure_chain(tenant, response_id, LONGEST)).is_whole:
            raise previous_not_found(response_id)
        raise ClientError(
            f"Invalid 'previous_response_id': response '{response_id}' has status "
            f"'{parent.status}', and only a completed or incomplete response can be followed.",
            code="invalid_value",
            param="previous_response_id",
        )
    prefix = await parts.chains.prefix(store, parent, parts.reads, intake, parts.offload)
    if prefix is None:
        raise previous_not_found(response_id)
    return prefix
