"""Content of messages and of tool results as parts for the model: text, images, documents, search
results.
"""

from collections.abc import Callable, Sequence
from typing import Any

from antiphon.errors import ClientError
from antiphon.protocol.items.content import InputFile, InputImage, InputPart, InputText
from antiphon.protocol.messages.blocks import (
    Base64Source,
    ContentSource,
    DocumentBlock,
    FileSource,
    ImageBlock,
    SearchResultBlock,
    TextBlock,
    TextSource,
    UrlSource,
)
from antiphon.protocol.messages.wording import reworded
from antiphon.protocol.validation.media import check_file, check_image

PDF = "application/pdf"

LONGEST_TITLE = 200
"""Characters of a document's title that become the name of its file."""

_BEGINNINGS = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
}
"""The type of an image by the first characters of its base64: clients often name another one."""

Path = str
Parts = list[InputPart]


def text_parts(block: TextBlock, path: Path) -> Parts:
    """Return the part of a text.

    Empty text, which clients repeat and no model needs, is dropped.
    """
    return [InputText(text=block.text)] if block.text else []


def image_parts(block: ImageBlock, path: Path) -> Parts:
    """Return the part of an image. Raises `ClientError` (400) for one that is invalid."""
    source = block.source
    if isinstance(source, Base64Source):
        part = InputImage(image_url=f"data:{_image_type(source)};base64,{source.data}")
    elif isinstance(source, UrlSource):
        part = InputImage(image_url=source.url)
    else:
        part = InputImage(file_id=source.file_id)
    _check(check_image, part, f"{path}.source")
    return [part]


def _image_type(source: Base64Source) -> str:
    begin = source.data[:16]
    return next(
        (kind for mark, kind in _BEGINNINGS.items() if begin.startswith(mark)), source.media_type
    )


def document_parts(block: DocumentBlock, path: Path) -> Parts:
    """Return the parts of a document: a file, or its text after a heading of its title and
    context.
    """
    source = block.source
    if isinstance(source, TextSource):
        return [InputText(text=_headed(block, source.data))]
    if isinstance(source, ContentSource):
        blocks = (
            [TextBlock(text=source.content)] if isinstance(source.content, str) else source.content
        )
        inner = parts_of(blocks, f"{path}.source.content")
        title = _heading(block)
        return [InputText(text=title), *inner] if title else inner
    heading = [InputText(text=block.context)] if block.context else []
    return [*heading, _file(source, block.title, path)]


def _file(
    source: Base64Source | UrlSource | FileSource, title: str | None, path: Path
) -> InputFile:
    if isinstance(source, Base64Source):
        name = (title or "document")[:LONGEST_TITLE]
        if source.media_type == PDF and not name.lower().endswith(".pdf"):
            name += ".pdf"
        part = InputFile(file_data=f"data:{source.media_type};base64,{source.data}", filename=name)
    elif isinstance(source, UrlSource):
        part = InputFile(file_url=source.url)
    else:
        part = InputFile(file_id=source.file_id)
    _check(check_file, part, f"{path}.source")
    return part


def _heading(block: DocumentBlock) -> str:
    title = f"Document: {block.title}" if block.title else ""
    return "\n".join(filter(None, (title, block.context)))


def _headed(block: DocumentBlock, text: str) -> str:
    return "\n\n".join(filter(None, (_heading(block), text)))


def search_result_parts(block: SearchResultBlock, path: Path) -> Parts:
    """Return a client's own search result as text: its title, its source, and what it says."""
    text = "\n".join(inner.text for inner in block.content if inner.text)
    return [InputText(text=f"{block.title}\n{block.source}\n\n{text}")]


PARTS: dict[type, Callable[[Any, Path], Parts]] = {
    TextBlock: text_parts,
    ImageBlock: image_parts,
    DocumentBlock: document_parts,
    SearchResultBlock: search_result_parts,
}
"""The parts of each block that the model reads as it is."""


def parts_of(blocks: Sequence[Any], path: Path) -> Parts:
    """Return the parts of blocks of these types; `path` is that of their list."""
    return [
        part
        for index, block in enumerate(blocks)
        for part in PARTS[type(block)](block, f"{path}.{index}")
    ]


def simplest(parts: Parts) -> str | Any:
    """Return parts as a message's content: one text as a string.

    Clients send the same content as a string or as one block, by whether it has a `cache_control`,
    and a prompt must be the same in both cases.
    """
    return parts[0].text if len(parts) == 1 and isinstance(parts[0], InputText) else parts


def _check(rule: Callable[[Any, str], None], part: InputImage | InputFile, path: Path) -> None:
    try:
        rule(part, path)
    except ClientError as error:
        raise reworded(error, lambda param: path) from None
