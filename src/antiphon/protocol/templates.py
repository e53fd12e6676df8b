"""Fills the placeholders of a prompt: texts are inserted as text and never read as templates,
images become parts.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import UNSET
from msgspec.structs import replace

from antiphon.errors import ClientError
from antiphon.protocol.items.content import (
    ContentPart,
    InputFile,
    InputImage,
    InputText,
    OutputText,
    Refusal,
)
from antiphon.protocol.items.messages import Message
from antiphon.protocol.prompts import PromptTemplate
from antiphon.protocol.requests import PromptParam, PromptVariable
from antiphon.protocol.validation import refusals

MOST_GROWTH = 1024 * 1024
"""Characters that variables with many placeholders can add to a prompt beyond their own size."""

PATH = "prompt.variables"

_PLACEHOLDER = re.compile(r"\{\{\s{0,32}([A-Za-z_][A-Za-z0-9_]{0,63})\s{0,32}\}\}")

Variables = Mapping[str, PromptVariable]


def variables_of(template: PromptTemplate) -> list[str]:
    """Return the names of the placeholders, each once, in order."""
    return list(_places(template))


def fill(template: PromptTemplate, prompt: PromptParam) -> tuple[str | None, list[Message]]:
    """Return the instructions and the messages of a prompt with the variables of a request.

    Raises `ClientError` (400) for a variable that is missing, unknown, or of a type that its
    position does not allow.
    """
    variables = prompt.variables or {}
    _check_names(template, variables)
    instructions = template.instructions
    if instructions is not None:
        instructions = _text(instructions, variables, "the prompt's instructions")
    return instructions, [
        _filled(*one, variables, prompt.id) for one in enumerate(template.messages or ())
    ]


def _places(template: PromptTemplate) -> Counter[str]:
    """Return how many times each placeholder is in the template."""
    return Counter(name for text in _texts(template) for name in _PLACEHOLDER.findall(text))


def _texts(template: PromptTemplate) -> Iterator[str]:
    yield template.instructions or ""
    for message in template.messages or ():
        if isinstance(message.content, str):
            yield message.content
        else:
            yield from (
                part.text for part in message.content if isinstance(part, InputText | OutputText)
            )


def _check_names(template: PromptTemplate, variables: Variables) -> None:
    places = _places(template)
    if missing := [name for name in places if name not in variables]:
        words = (
            f"Missing prompt variables: {refusals.listed(missing)}. Set them in 'prompt.variables'."
        )
        raise ClientError(words, code="missing_required_parameter", param=PATH)
    if unknown := [refusals.quoted(name) for name in variables if name not in places]:
        known = f"It has {refusals.listed(places)}." if places else "It has no variables."
        words = (
            f"Unknown prompt variables: {refusals.listed(unknown[:10])}. "
            f"The prompt does not have them. {known}"
        )
        raise ClientError(words, code=refusals.UNKNOWN_PARAMETER, param=PATH)
    sizes = {name: _size(value) for name, value in variables.items()}
    if sum((places[name] - 1) * size for name, size in sizes.items()) > MOST_GROWTH:
        words = (
            f"the prompt would repeat them in more than {MOST_GROWTH:,} characters. "
            "Send shorter variables."
        )
        raise refusals.invalid(PATH, words)


def _size(value: PromptVariable) -> int:
    if isinstance(value, str):
        return len(value)
    texts = (getattr(value, name) for name in value.__struct_fields__)
    return sum(len(text) for text in texts if isinstance(text, str))


def _filled(index: int, message: Message, variables: Variables, prompt_id: str) -> Message:
    """Return a message with its variables; an assistant's has an id, which some backends need, the
    same every time.
    """
    is_answer = message.role == "assistant"
    content: list[ContentPart] = []
    for part in _parts_of(message):
        if isinstance(part, InputText) and not is_answer:
            content += _parts(part, variables)
        elif isinstance(part, OutputText | InputText):
            content.append(OutputText(text=_text(part.text, variables, "an assistant's message")))
        else:
            content.append(part)
    if not is_answer:
        return Message(role=message.role, content=content)
    return Message(
        id=f"msg_{index}_{prompt_id}"[:64], status="completed", role="assistant", content=content
    )


def _parts_of(message: Message) -> Sequence[ContentPart | Refusal]:
    return (
        [InputText(text=message.content)] if isinstance(message.content, str) else message.content
    )


def _parts(part: InputText, variables: Variables) -> Iterator[ContentPart]:
    """Return a text with its variables as parts: one text, unless it contains images and files."""
    if part.prompt_cache_breakpoint is not UNSET:
        yield replace(part, text=_text(part.text, variables, "a part with a cache breakpoint"))
        return
    text = ""
    for is_name, piece in _pieces(part.text):
        value = variables[piece] if is_name else piece
        if isinstance(value, InputImage | InputFile):
            if text:
                yield InputText(text=text)
            yield value
            text = ""
        else:
            text += value if isinstance(value, str) else value.text
    if text:
        yield InputText(text=text)


def _text(text: str, variables: Variables, where: str) -> str:
    """Return a text with its variables. Raises `ClientError` for a variable that is not a text."""
    texts: list[str] = []
    for is_name, piece in _pieces(text):
        value = variables[piece] if is_name else piece
        if isinstance(value, InputImage | InputFile):
            words = f"{where} can contain only text, and this is an '{value.type}'."
            raise refusals.invalid(f"{PATH}.{piece}", words)
        texts.append(value if isinstance(value, str) else value.text)
    return "".join(texts)


def _pieces(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the pieces of a template in order: whether one is a placeholder, and its name or its
    text.
    """
    for place, piece in enumerate(_PLACEHOLDER.split(text)):
        if place % 2 or piece:
            yield bool(place % 2), piece
