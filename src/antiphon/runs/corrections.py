"""Requests corrections of invalid model output: a call's arguments or input, or a text that
violates its schema.
"""

from collections.abc import Callable, Generator, Sequence

from msgspec import UNSET
from msgspec.structs import replace

from antiphon.errors import AntiphonError, log
from antiphon.protocol.formats import JsonSchemaFormat
from antiphon.protocol.items.calls import CustomToolCall, CustomToolCallOutput
from antiphon.protocol.items.content import InputText, OutputText
from antiphon.protocol.items.messages import (
    FunctionCall,
    FunctionCallOutput,
    InputItem,
    Message,
    Reasoning,
)
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tools import CustomChoice, FunctionChoice
from antiphon.runs.auxiliary_calls import aside
from antiphon.runs.steps import LoadModules, ModelResult, Settle, Step
from antiphon.translation.checked_items import (
    REPAIRING,
    CheckedCall,
    CheckedMessage,
    TextCheck,
    can_repair,
)
from antiphon.translation.to_chat_completions.request import Body, configured
from antiphon.translation.to_chat_completions.schemas import schemas_in
from antiphon.translation.tool_items import StreamingCall, StreamingCustomCall
from antiphon.translation.wire import Finish

Corrected = StreamingCustomCall | CheckedCall | CheckedMessage
"""Items that are held back because they are invalid."""

Question = tuple[CreateResponse, list[InputItem]]
"""A request, and its conversation."""

LONGEST_QUOTE = 20_000
"""Characters of invalid arguments that the model is shown."""

GRAMMAR = """\
This input was not used: it does not fit the grammar that the tool's description gives. {misfit} \
Call the tool again with the same content in a form that fits."""

ARGUMENTS = """\
This call was not made. {misfit} The arguments were:
{text}
Call the tool again with the same content, as one JSON object that fits the tool's schema: within strings, quotes, \
backslashes and line ends are escaped.{begin}"""  # noqa: E501 - the lines of a text

BEGIN = """ The arguments must begin exactly like this:
{sent}"""

TEXT = """\
This answer was not used: it does not fit the schema. {misfit} \
Answer again, with the same content, by one JSON value that fits the schema and nothing else."""


NO_CALL = "You have not made the call that is required. Make it now, and write no text."


def corrections(
    ending: Finish, request: Callable[[Corrected], Generator[Step, None, ModelResult]]
) -> Generator[Step, None, AntiphonError | None]:
    """Correct the held items of an answer; `request` requests one item from the model again. Return
    the error, if it fails.

    An item that is not corrected is passed on unchanged, and logged. After a failed answer
    nothing is corrected.
    """
    failure: AntiphonError | None = None
    for retained in ending.retained:
        if isinstance(retained, Corrected) and ending.error is not None:
            yield Settle(retained, retained.text)
        elif isinstance(retained, Corrected):
            failure = (yield from _corrected(retained, request)) or failure
    return failure


def _corrected(
    retained: Corrected, request: Callable[[Corrected], Generator[Step, None, ModelResult]]
) -> Generator[Step, None, AntiphonError | None]:
    better: str | None = None
    if (
        isinstance(retained, CheckedCall | CheckedMessage)
        and not retained.is_reported
        and not can_repair()
    ):
        yield LoadModules(REPAIRING)
        if (text := retained.repaired()) is not None:
            yield Settle(retained, text, (retained.kind, "repaired"))
            return None
    if not retained.is_reported:
        answer = yield from request(retained)
        better = retained.fitting(answer.items)
    if better is not None:
        yield Settle(retained, better, (retained.kind, "asked_again"))
        return None
    log.warning(retained.complaint)
    failure = retained.failure
    yield Settle(retained, retained.text, (retained.kind, "broken"))
    return failure


def text_check(
    request: CreateResponse, items: Sequence[InputItem], body: Body, *, is_doubtful: bool
) -> TextCheck | None:
    """Return the schema that the text of an answer must match, None if it has none.

    `body` is the Chat request for it. The text is held until its end if no client receives it,
    if the request does not contain the exact schema, or if the model is known not
    to follow schemas reliably.
    """
    wanted = configured(request, items).text
    if wanted is None or not isinstance(wanted.format, JsonSchemaFormat):
        return None
    schema = wanted.format.schema
    is_sent = schema in schemas_in({"response_format": body.get("response_format")})
    return TextCheck(
        schema, wanted.format.strict is True, not request.stream or is_doubtful or not is_sent
    )


def question(request: CreateResponse, items: Sequence[InputItem], retained: Corrected) -> Question:
    """Return the request and the conversation with which the model generates an item again."""
    if isinstance(retained, CheckedMessage):
        return _text(request, items, retained)
    return (
        _arguments(request, items, retained)
        if isinstance(retained, CheckedCall)
        else _input(request, items, retained)
    )


def _input(
    request: CreateResponse, items: Sequence[InputItem], buffered: StreamingCustomCall
) -> Question:
    name = buffered.offer.name
    namespace = buffered.offer.namespace or UNSET
    call = CustomToolCall(
        call_id=buffered.call_id, name=name, input=buffered.text, namespace=namespace
    )
    answered = CustomToolCallOutput(
        call_id=buffered.call_id, output=GRAMMAR.format(misfit=buffered.misfit)
    )
    return aside(request, items, tool_choice=CustomChoice(name=name)), [
        *items,
        *_signed(buffered),
        call,
        answered,
    ]


def _arguments(
    request: CreateResponse, items: Sequence[InputItem], buffered: CheckedCall
) -> Question:
    """Quote invalid arguments, since templates and servers parse the arguments
    of a call, and fail.
    """
    name = buffered.offer.name
    namespace = buffered.offer.namespace or UNSET
    call = FunctionCall(call_id=buffered.call_id, name=name, arguments="{}", namespace=namespace)
    begin = BEGIN.format(sent=buffered.sent) if buffered.sent else ""
    stated = ARGUMENTS.format(
        misfit=buffered.misfit, text=buffered.text[:LONGEST_QUOTE], begin=begin
    )
    answered = FunctionCallOutput(call_id=buffered.call_id, output=stated)
    return aside(request, items, tool_choice=FunctionChoice(name=name)), [
        *items,
        *_signed(buffered),
        call,
        answered,
    ]


def _signed(buffered: StreamingCall) -> list[InputItem]:
    """Return the item with the signature of a call, without which its backend does not
    take it back.
    """
    blob = (
        buffered.writer.seal({"calls": {buffered.call_id: buffered.stored}})
        if buffered.stored
        else ""
    )
    return [Reasoning(summary=[], encrypted_content=blob)] if blob else []


def _text(
    request: CreateResponse, items: Sequence[InputItem], buffered: CheckedMessage
) -> Question:
    content = Message(role="assistant", content=[OutputText(text=buffered.text)])
    wanted = Message(role="user", content=[InputText(text=TEXT.format(misfit=buffered.misfit))])
    requested = aside(request, items, tool_choice=None if request.tools is None else "none")
    return replace(requested, text=request.text), [*items, content, wanted]
