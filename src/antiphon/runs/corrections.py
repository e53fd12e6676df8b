"""Requests corrections of invalid model output: a call's arguments or input, or a text that violates its schema."""

from collections.abc import Callable, Generator, Sequence

from msgspec import UNSET
from msgspec.structs import replace

from antiphon.errors import AntiphonError, log
from antiphon.protocol.formats import JsonSchemaFormat
from antiphon.protocol.items.calls import CustomToolCall, CustomToolCallOutput
from antiphon.protocol.items.content import InputText, OutputText
from antiphon.protocol.items.messages import FunctionCall, FunctionCallOutput, InputItem, Message, Reasoning
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tools import CustomChoice, FunctionChoice
from antiphon.runs.auxiliary_calls import aside
from antiphon.runs.steps import LoadModules, ModelResult, Settle, Step
from antiphon.translation.checked_items import REPAIRING, CheckedCall, CheckedMessage, TextCheck, can_repair
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
backslashes and line ends are escaped.{begin}"""

BEGIN = """ The arguments must begin exactly like this:
{sent}"""

TEXT = """\
This answer was not used: it does not fit the schema. {misfit} \
Answer again, with the same content, by one JSON value that fits the schema and nothing else."""


NO_CALL = "You have not made the call that is required. Make it now, and write no text."


def corrections(
    ending: Finish, ask: Callable[[Corrected], Generator[Step, None, ModelResult]]
) -> Generator[Step, None, AntiphonError | None]:
    """Correct the held items of an answer; `ask` requests one item from the model again. Return the error, if it fails.

    An item that is not corrected is passed on unchanged, and logged. After a failed answer nothing is corrected.
    """
    failure: AntiphonError | None = None
    for held in ending.held:
        if isinstance(held, Corrected) and ending.error is not None:
            yield Settle(held, held.text)
        elif isinstance(held, Corrected):
            failure = (yield from _corrected(held, ask)) or failure
    return failure


def _corrected(
    held: Corrected, ask: Callable[[Corrected], Generator[Step, None, ModelResult]]
) -> Generator[Step, None, AntiphonError | None]:
    better: str | None = None
    if isinstance(held, CheckedCall | CheckedMessage) and not held.is_told and not can_repair():
        yield LoadModules(REPAIRING)
        if (text := held.repaired()) is not None:
            yield Settle(held, text, (held.kind, "repaired"))
            return None
    if not held.is_told:
        answer = yield from ask(held)
        better = held.fitting(answer.items)
    if better is not None:
        yield Settle(held, better, (held.kind, "asked_again"))
        return None
    log.warning(held.complaint)
    failure = held.failure
    yield Settle(held, held.text, (held.kind, "broken"))
    return failure


def text_check(
    request: CreateResponse, items: Sequence[InputItem], body: Body, *, is_doubtful: bool
) -> TextCheck | None:
    """Return the schema that the text of an answer must match, None if it has none.

    `body` is the Chat request for it. The text is held until its end if no client receives it, if the request
    does not contain the exact schema, or if the model is known not to follow schemas reliably.
    """
    wanted = configured(request, items).text
    if wanted is None or not isinstance(wanted.format, JsonSchemaFormat):
        return None
    schema = wanted.format.schema
    is_sent = schema in schemas_in({"response_format": body.get("response_format")})
    return TextCheck(schema, wanted.format.strict is True, not request.stream or is_doubtful or not is_sent)


def question(request: CreateResponse, items: Sequence[InputItem], held: Corrected) -> Question:
    """Return the request and the conversation with which the model generates an item again."""
    if isinstance(held, CheckedMessage):
        return _text(request, items, held)
    return _arguments(request, items, held) if isinstance(held, CheckedCall) else _input(request, items, held)


def _input(request: CreateResponse, items: Sequence[InputItem], held: StreamingCustomCall) -> Question:
    name, namespace = held.offer.name, held.offer.namespace or UNSET
    call = CustomToolCall(call_id=held.call_id, name=name, input=held.text, namespace=namespace)
    answered = CustomToolCallOutput(call_id=held.call_id, output=GRAMMAR.format(misfit=held.misfit))
    return aside(request, items, tool_choice=CustomChoice(name=name)), [*items, *_signed(held), call, answered]


def _arguments(request: CreateResponse, items: Sequence[InputItem], held: CheckedCall) -> Question:
    """Quote invalid arguments, since templates and servers parse the arguments of a call, and fail."""
    name, namespace = held.offer.name, held.offer.namespace or UNSET
    call = FunctionCall(call_id=held.call_id, name=name, arguments="{}", namespace=namespace)
    begin = BEGIN.format(sent=held.sent) if held.sent else ""
    said = ARGUMENTS.format(misfit=held.misfit, text=held.text[:LONGEST_QUOTE], begin=begin)
    answered = FunctionCallOutput(call_id=held.call_id, output=said)
    return aside(request, items, tool_choice=FunctionChoice(name=name)), [*items, *_signed(held), call, answered]


def _signed(held: StreamingCall) -> list[InputItem]:
    """Return the item with the signature of a call, without which its backend does not take it back."""
    blob = held.writer.seal({"calls": {held.call_id: held.kept}}) if held.kept else ""
    return [Reasoning(summary=[], encrypted_content=blob)] if blob else []


def _text(request: CreateResponse, items: Sequence[InputItem], held: CheckedMessage) -> Question:
    said = Message(role="assistant", content=[OutputText(text=held.text)])
    wanted = Message(role="user", content=[InputText(text=TEXT.format(misfit=held.misfit))])
    asked = aside(request, items, tool_choice=None if request.tools is None else "none")
    return replace(asked, text=request.text), [*items, said, wanted]
