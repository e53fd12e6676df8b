"""Translates a request for a backend without a run: to count its tokens, or to show it later."""

from collections.abc import Callable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from antiphon.access.unseal import Unsealer, state_origin
from antiphon.history.context import Context
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tools import HostedChoice
from antiphon.runs.parts import RunParts
from antiphon.runs.steps import AttachFiles
from antiphon.translation.dialects.dialect import Api
from antiphon.translation.files import NONE_READ, ReadFiles, UnreadFile
from antiphon.translation.to_chat_completions.request import Body, to_chat
from antiphon.translation.to_responses.request import to_responses
from antiphon.translation.tool_mapping.offering import toolbox_of
from antiphon.upstream.backend_state import ModelTarget


class BackendRequest(Struct):
    """A request in the API of its backend, without the model's name."""

    target: ModelTarget
    api: Api
    body: Body


async def translated(
    parts: RunParts, request: CreateResponse, context: Context, target: ModelTarget
) -> BackendRequest:
    """Return a request for this target.

    Raises `ClientError`.
    """
    tenant = context.tenant
    refused = target.lessons.of(tenant)
    unseal = Unsealer(parts.keyring, tenant, refuses=False)
    if target.defaults is not None:
        request = target.defaults.complete(request, context.items)
    api = target.api_for(request, context.items)
    translate: Callable[[ReadFiles], Body]
    if api == "responses":
        origin = state_origin(target)
        translate = partial(_to_responses, request, context, target, refused, unseal, origin)
    else:
        if isinstance(
            request.tool_choice, HostedChoice
        ):  # it can require a tool that is listed only for a response
            request = replace(request, tool_choice=None)
        translate = partial(_to_chat, parts, request, context, target, refused, unseal)
    files = NONE_READ
    while True:
        try:
            body = await parts.offload.run(tenant, context.work_with_chain, translate, files)
        except UnreadFile as unread:
            from antiphon.history.attachments import attach  # noqa: PLC0415 - few requests have files

            step = AttachFiles(unread.part, unread.form)
            files = await attach(
                parts.attachments.get(), request, context, context.items, files, step
            )
        else:
            return BackendRequest(target, api, body)


def _to_responses(
    request: CreateResponse,
    context: Context,
    target: ModelTarget,
    refused: frozenset[str],
    unseal: Unsealer,
    origin: str,
    files: ReadFiles,
) -> Body:
    return to_responses(
        request, context.items, target.dialect, refused, unseal=unseal, origin=origin, files=files
    )


def _to_chat(
    parts: RunParts,
    request: CreateResponse,
    context: Context,
    target: ModelTarget,
    refused: frozenset[str],
    unseal: Unsealer,
    files: ReadFiles,
) -> Body:
    toolbox = toolbox_of(
        request, context.items, target.dialect.taught(refused), parts.toolset.supported
    )
    history = len(context.history)
    return to_chat(
        request,
        context.items,
        target.dialect,
        refused,
        toolbox=toolbox,
        unseal=unseal,
        token=unseal.token,
        history=history,
        files=files,
    )
