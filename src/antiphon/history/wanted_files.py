"""Which files of a conversation a backend needs, in which form and order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from antiphon.history.prompted import path_in_prompt
from antiphon.protocol.items.content import InputFile
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.requests import CreateResponse
from antiphon.runs.steps import AttachFiles
from antiphon.translation.files import PAST, Form
from antiphon.translation.to_chat_completions.media import is_plain_text


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file of a conversation, its path in the request, and the form that a backend needs."""

    part: InputFile
    path: str
    form: Form


def wanted_files(
    request: CreateResponse, items: Sequence[InputItem], history: int, step: AttachFiles
) -> Iterator[Wanted]:
    """Yield the files that a backend needs: those of the request's own input first, then the
    newest.
    """
    is_listed = False
    for part, path in _files_in(items, history):
        is_listed |= part is step.part
        if part is step.part or part.file_id or (step.form != "data" and not is_plain_text(part)):
            form: Form = "text" if step.form == "pages" and part.detail == "low" else step.form
            yield Wanted(part, path, form)
    if not is_listed:
        yield Wanted(step.part, path_in_prompt(request, step.part) or PAST, step.form)


def _files_in(items: Sequence[InputItem], history: int) -> Iterator[tuple[InputFile, str]]:
    for place in (*range(history, len(items)), *reversed(range(min(history, len(items))))):
        for name in ("content", "output"):
            parts = getattr(items[place], name, None)
            for index, part in enumerate(parts) if isinstance(parts, list) else ():
                if isinstance(part, InputFile):
                    yield (
                        part,
                        f"input[{place - history}].{name}[{index}]" if place >= history else PAST,
                    )
