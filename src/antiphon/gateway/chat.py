"""Chat completions that are answered as responses: which ones, what they become, and their answer.

The first request that may need it loads this module.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from antiphon.access.metering import UsageLease
from antiphon.access.spending import SpentTokens
from antiphon.errors import BackendError
from antiphon.forwarding.chat_refusals import RunInsteadError, forwardable, learn
from antiphon.forwarding.passthrough import Passing
from antiphon.objects.pages import JsonObject
from antiphon.protocol.items.calls import CustomToolCall
from antiphon.protocol.items.messages import FunctionCall, Reasoning
from antiphon.protocol.response import Response
from antiphon.runs.parts import RunParts
from antiphon.runs.run import Run
from antiphon.sharing.recent import Recent
from antiphon.tools.registry import KINDS
from antiphon.translation.chat_front.chunks import DONE, ChunkEncoder, frame
from antiphon.translation.chat_front.completion import completion_of, unanswerable
from antiphon.translation.chat_front.request import ChatRequest, check_answers, read_chat
from antiphon.translation.chat_front.view import ChatView
from antiphon.upstream.candidates import Candidates
from antiphon.upstream.router import Route

__all__ = [
    "DONE",
    "ChatFront",
    "ChatRequest",
    "ChatView",
    "ChunkEncoder",
    "RunInsteadError",
    "TotalUse",
    "completion_of",
    "frame",
    "unanswerable",
]

CHAT = "/chat/completions"

REASONING = 16 * 1024 * 1024
"""Bytes of reasoning that are kept for later requests, of all tenants."""

_decode = msgspec.json.Decoder(list[dict[str, Any]]).decode


class TotalUse:
    """What all answers of a completion used together."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = runs

    def spent(self) -> SpentTokens:
        """Return the tokens and their cost."""
        all_spent = [run.spent() for run in self._runs]
        return SpentTokens(
            sum(one.input_tokens for one in all_spent),
            sum(one.output_tokens for one in all_spent),
            sum(one.cached_tokens for one in all_spent),
            all_spent[0].model,
            sum(one.cost for one in all_spent),
        )


class ChatFront:
    """Decides which chat completions become responses, and translates these."""

    def __init__(self, parts: RunParts) -> None:
        self._parts = parts
        self._reasoning: Recent[str, bytes] = Recent(REASONING, len)
        """The sealed reasoning before a call, by the call's id: most clients of this API return
        only the call.
        """

    def passing(
        self,
        candidates: Candidates,
        request: JsonObject,
        grant: UsageLease | None,
        tenant: str,
    ) -> Passing | None:
        """Return a request that is forwarded, of which a refusal raises `RunInsteadError` if it can
        be a response instead; None if it becomes a response at once.
        """
        is_forced = candidates[0].chat_completions == "forward"
        if not is_forced and self._wants_tools(candidates, request):
            return None
        able = forwardable(candidates, request)
        if able is None:
            return None
        has_others = able is not candidates
        try:
            route = Route(self._parts.router, able, (), tenant, is_patient=False, is_late=False)
        except BackendError:
            if has_others:
                return None
            raise
        passing = Passing(self._parts.observers, route, CHAT, request, grant, tenant)
        passing.may_run = True
        passing.has_other_path = has_others
        passing.on_refusal = lambda refusal: learn(passing.target, request, refusal)
        return passing

    def _wants_tools(self, candidates: Candidates, request: JsonObject) -> bool:
        """Whether a preset or the request has a tool that a server runs: one of this server, or of
        the Responses API of a backend.
        """
        if candidates.preset is not None and candidates.preset.tools is not None:
            return True
        kinds = [str(tool.get("type")) for tool in request.get("tools") or ()]
        if "web_search_options" in request:
            kinds.append("web_search")
        native = candidates[0].api == "responses" and not candidates[0].state.is_probed
        return any(
            kind.startswith(name) and (native or tool in self._parts.toolset.supported)
            for kind in kinds
            for name, tool in KINDS.items()
        )

    async def read(self, tenant: str, request: JsonObject, size: int) -> ChatRequest:
        """Return a request of `size` bytes as one for a response. Raises `ClientError` (400)."""
        models = self._parts.models
        read = partial(read_chat, request, partial(self._restored, tenant), models.accepts)
        wanted = await self._parts.offload.run(tenant, size, read)
        if wanted.view.answers > 1:
            preset = (await models.candidates(wanted.view.model)).preset
            full = wanted.request if preset is None else preset.applied_to(wanted.request)
            check_answers(wanted.view.answers, full.tools or ())
        return wanted

    def remember(self, tenant: str, response: Response) -> None:
        """Keep the reasoning before the client's calls, for the request with their results."""
        sealed: list[JsonObject] = []
        for item in response.output:
            if isinstance(item, Reasoning) and item.encrypted_content:
                sealed.append(
                    {
                        "type": "reasoning",
                        "id": item.id,
                        "summary": [],
                        "encrypted_content": item.encrypted_content,
                    }
                )
            elif isinstance(item, FunctionCall | CustomToolCall) and sealed:
                self._reasoning.put(tenant, item.call_id, msgspec.json.encode(sealed))

    def _restored(self, tenant: str, call_id: str) -> Sequence[JsonObject]:
        found = self._reasoning.peek(tenant, call_id)
        return () if found is None else _decode(found)
