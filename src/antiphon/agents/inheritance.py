"""What a response inherits that continues the run of an earlier one, with the client's answers.

The handler starts again, with the input and the history of the response that began the run. Its
journal begins with those of all earlier responses of the run: the newest state of each step counts.
The items of a response that failed or was cancelled are not inherited, because no later response
has them in its history: they are emitted again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from antiphon.agents.errors import deleted_meanwhile
from antiphon.agents.journal import InheritedStep
from antiphon.history.chain_cache import LONGEST
from antiphon.history.context import CHAINABLE
from antiphon.history.decoding import load_item, load_items
from antiphon.history.history_memory import HistoryMemory
from antiphon.jobs.agent_answers import ClientAnswer, answers_in, run_expired
from antiphon.jobs.known_agents import without_declaration
from antiphon.jobs.parts import JobParts
from antiphon.protocol.items.content import Item
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.validation.validate import decode_request
from antiphon.storage.operations import continuations, responses, steps
from antiphon.storage.records.jobs import Job
from antiphon.storage.records.steps import REQUEST, STATE, Step, StepState

NO_ANSWERS: Mapping[str, ClientAnswer] = {}


class AgentInput(Struct):
    """What a handler starts with."""

    run_id: str
    """The response that began its run."""
    request: CreateResponse
    history: Sequence[InputItem]
    input: Sequence[InputItem]
    state: Any
    """What the agent's last response in the chain saved; None if it saved nothing."""
    answers: Mapping[str, ClientAnswer] = NO_ANSWERS
    """Those of the client, by the IDs of the items that they answer."""
    inherited: Mapping[str, InheritedStep] = {}


async def inherited_input(
    parts: JobParts, job: Job, request: CreateResponse, memory: HistoryMemory
) -> AgentInput | None:
    """Return what the handler of a response starts with that continues a run; None if it begins
    one.

    Raises `ClientError` (`agent_run_expired`) if a response of the run is not stored any more.
    """
    answers = answers_in(request)
    if not answers:
        return None
    tenant = job.response.tenant
    run = await parts.store.read(continuations.run, tenant, job.response.id)
    if not run:
        return None
    found: dict[str, InheritedStep] = {}
    for response_id in run:
        has_items = await _has_items(parts, tenant, response_id)
        for step in await journal_of(parts, tenant, response_id):
            if has_items or step.state is not StepState.ITEM:
                found[step.key] = InheritedStep(step, response_id)
    for response_id in run:  # after their journals: none was deleted while these were read
        await _has_items(parts, tenant, response_id)
    first = await _first(parts, tenant, run[0], memory)
    return replace(first, answers=answers, inherited=found)


async def _has_items(parts: JobParts, tenant: str, response_id: str) -> bool:
    """Return whether the items of a response are in the history of those that continue it."""
    stored = await parts.store.read(responses.load, tenant, response_id, few=True)
    if stored is None:
        raise run_expired()
    return stored.status in CHAINABLE


async def _first(
    parts: JobParts, tenant: str, response_id: str, memory: HistoryMemory
) -> AgentInput:
    """Return what the handler of the response that began the run started with."""
    store, history = parts.store, parts.run.history
    extent = await store.measure_chain(tenant, response_id, LONGEST)
    await memory.measured(extent)
    stored = await store.read(responses.load, tenant, response_id)
    items = await store.read(responses.history, tenant, response_id, extent)
    begun = await store.read(steps.load, tenant, response_id, REQUEST)
    if stored is None or items is None or begun is None:
        raise run_expired()
    before = len(items) - len(stored.input) - len(stored.output)
    loaded = await load_items(
        items[: before + len(stored.input)], history.reads, parts.run.offload, tenant
    )
    request = decode_request(begun.body, lambda name: True)
    if request.prompt is not None:
        from antiphon.history.prompted import restore  # noqa: PLC0415 - few requests name a prompt

        request = restore(request)
    return AgentInput(
        response_id,
        without_declaration(replace(request, input=loaded[before:])),
        loaded[:before],
        loaded[before:],
        await state_of(parts, tenant, stored.previous_response_id),
    )


def body_without_input(body: bytes) -> bytes:
    """Return the JSON of a request with another text as its input: the response has the real one,
    and a request without any is invalid.
    """
    fields = msgspec.json.decode(body, type=dict[str, Raw])
    return msgspec.json.encode({**fields, "input": "-"})


async def journal_of(parts: JobParts, tenant: str, response_id: str) -> list[Step]:
    """Return the journal of a response, without large bodies."""
    found: list[Step] = []
    after = STATE - 1
    while more := await parts.store.read(steps.journal, tenant, response_id, after):
        found += more
        after = more[-1].place
    return found


async def state_of(parts: JobParts, tenant: str, previous: str | None) -> Any:
    """Return what the agent's last response in the chain saved; None if it saved nothing."""
    if previous is None:
        return None
    step = await parts.store.read(steps.load, tenant, previous, STATE)
    return None if step is None else msgspec.json.decode(step.body)


async def item_of(parts: JobParts, tenant: str, response_id: str, index: int) -> Item:
    """Return an output item of an earlier response."""
    stored = await parts.store.read(responses.load, tenant, response_id)
    if stored is None:
        raise deleted_meanwhile()
    item: Item = load_item(stored.output[index])
    return item
