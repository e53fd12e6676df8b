"""Requests that answer an agent, which waits for its client: they continue its run."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from antiphon.errors import ClientError
from antiphon.history.context import Context
from antiphon.jobs.agent_answers import (
    ClientAnswer,
    answers_in,
    call_id_of,
    digest_of,
    item_answered,
    question_of,
    run_expired,
)
from antiphon.jobs.known_agents import without_declaration
from antiphon.protocol.items.hosted import McpApprovalRequest
from antiphon.protocol.items.messages import FunctionCall
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.validation.validate import decode_request
from antiphon.storage.operations import continuations, steps
from antiphon.storage.records.agents import AgentOffer
from antiphon.storage.records.steps import REQUEST, Answers, Continued, Waiting
from antiphon.storage.store import Store


class AnswersInRequest(msgspec.Struct, frozen=True):
    """The answers of a request, and whether an earlier request may have sent them."""

    answers: Answers
    items: Sequence[str]
    """The IDs of the items that they answer."""
    is_repeated: bool


async def answers_to(
    store: Store, request: CreateResponse, tenant: str, offer: AgentOffer
) -> AnswersInRequest | None:
    """Return the answers of a request, None if it begins a run.

    Raises `ClientError` for answers that cannot continue the run that they belong to.
    """
    answers = answers_in(request)
    if not answers or not (request.previous_response_id or request.conversation):
        return None
    waiting = await _waiting_for(store, tenant, answers)
    if waiting is None:
        return None
    questions = {one.item: one for one in (question_of(step.body) for step in waiting.steps)}
    sent: Any = request.input
    if len(sent) != len(answers) or any(item_answered(item) not in questions for item in sent):
        raise ClientError(
            "Invalid 'input': an answer to an agent continues its run, so a request contains the "
            "answers to one response, each once, and nothing else. Send a new message in the next "
            "request.",
            code="agent_input_with_answer",
            param="input",
        )
    for item_id, answer in answers.items():
        _check(questions[item_id].agent, offer, item_id, answer)
    await _check_parameters(store, request, tenant, offer, waiting)
    taken = Answers(waiting.response_id, digest_of(answers))
    return AnswersInRequest(taken, [*answers], waiting.is_answered)


async def _waiting_for(
    store: Store, tenant: str, answers: Mapping[str, ClientAnswer]
) -> Waiting | None:
    """Return the response that waits for one of the answers."""
    for item_id in answers:
        waiting = await store.read(continuations.waiting, tenant, item_id)
        if waiting and any(question_of(step.body).item == item_id for step in waiting.steps):
            return waiting
    return None


def _check(agent: str, offer: AgentOffer, item_id: str, answer: ClientAnswer) -> None:
    if agent != offer.name:
        raise ClientError(
            f"The input answers the agent '{agent}', and the 'model' is '{offer.name}'.",
            code="invalid_value",
            param="model",
        )
    if answer.output is None:
        raise ClientError(
            f"The output of the call '{call_id_of(item_id)}' contains more than text. An agent "
            "receives text.",
            code="unsupported_value",
            param="input",
        )


async def _check_parameters(
    store: Store, request: CreateResponse, tenant: str, offer: AgentOffer, waiting: Waiting
) -> None:
    """Raise `ClientError` for a parameter that differs from the one with which the run began."""
    own = without_declaration(request)
    sent = {name: value for name in offer.accepts if (value := getattr(own, name)) is not None}
    if not sent:
        return
    run = await store.read(continuations.run, tenant, waiting.response_id)
    began = await store.read(steps.load, tenant, [*run, waiting.response_id][0], REQUEST)
    if began is None:
        raise run_expired()
    first = without_declaration(decode_request(began.body, lambda name: True))
    for name, value in sent.items():
        if value != getattr(first, name):
            raise ClientError(
                f"The parameter '{name}' differs from that of the request that began the run. An "
                "answer continues the run, so send the same value, or none.",
                code="unsupported_parameter",
                param=name,
            )


def check_history(context: Context, agent: str, answered: AnswersInRequest | None) -> None:
    """Raise `ClientError` if the history has no question for an answer, or if the response
    with the question is not stored any more.
    """
    known = {str(item.id) for item in context.history if isinstance(item, QUESTIONS)}
    if answered is None:
        sent = {item_answered(item) for item in context.input}
        for item in context.history:
            if item.id in sent and _is_of(agent, item):
                raise run_expired()
    elif unknown := [item_id for item_id in answered.items if item_id not in known]:
        raise ClientError(
            f"The history has no item '{unknown[0]}', which the input answers. Send the answer "
            "with the 'previous_response_id' or the 'conversation' of the response that has it.",
            code="invalid_value",
            param="input",
        )


QUESTIONS = (McpApprovalRequest, FunctionCall)


def _is_of(agent: str, item: Any) -> bool:
    if isinstance(item, McpApprovalRequest):
        return item.server_label == agent
    return isinstance(item, FunctionCall) and item.call_id == call_id_of(str(item.id))


def answered_otherwise(by: Continued) -> ClientError:
    """Return the error for answers that differ from those with which a run continues: 409."""
    if not by.response_id:
        return run_expired()
    reason = (
        "with other answers. Continue from that response"
        if by.status
        else "which is not stored any more. Send a new message to start again"
    )
    return ClientError(
        f"The agent was answered already, by the response '{by.response_id}', {reason}.",
        status=409,
        code="agent_approval_answered",
        param="input",
    )
