"""Reads documents in child processes: text for a model or an index, pages as images for models with vision."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

from antiphon.sharing.child import Child, ChildError, Input, child_turns
from antiphon.sharing.scheduler import FairScheduler

VERSION = 1
"""Changes whenever the same bytes can result in another text: stored texts of other versions are not used."""

PROGRAM = ("-m", "antiphon.documents.extraction")
"""Never imported in the server: its libraries are large, and it reads untrusted data."""

MEMORY = 600 * 1024 * 1024
"""Bytes of address space of a child."""
CPU = 20
"""Seconds of CPU time of a child."""
SECONDS = 60.0
"""For one document, after the tenant's turn has come: more than `CPU`, as other processes can be busy."""
LONGEST = 20_000_000
"""Bytes of a document's text, in UTF-8; a longer text is truncated."""
MOST_OUTPUT = LONGEST + 4096
"""Bytes of one answer: the text, or the images of pages."""
COST = 1_000_000
"""Bytes of a document that cost the scheduler as much as one more document."""

Code = Literal["invalid_file", "unsupported_file"]
Reason = Literal["", "password", "no_text", "busy"]
REASONS: tuple[Reason, ...] = ("password", "no_text")
"""Reasons that a child process can return."""


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a file. `pages` is 0 if the format has no pages."""

    text: str
    pages: int
    is_cut: bool
    """The file has more text than this."""
    kind: str
    """`pdf`, `docx`, `xlsx`, `text`, …"""


class DocumentError(Exception):
    """A file cannot be read. `message` is a sentence for the client with the reason, and what to do."""

    def __init__(self, code: Code, message: str, reason: Reason = "") -> None:
        super().__init__(message)
        self.code: Code = code
        self.message = message
        self.reason: Reason = reason
        """`busy` if the same file may be readable later; `no_text` for a PDF with pages that can be shown."""


class DocumentReader:
    """Reads the documents of this process."""

    def __init__(
        self,
        turns: FairScheduler | None = None,
        *,
        seconds: float = SECONDS,
        memory: int = MEMORY,
        program: Sequence[str] = PROGRAM,
    ) -> None:
        self._limits = {"memory": memory, "cpu": CPU}
        self._child = Child(program, turns or child_turns(), seconds=seconds, most_output=MOST_OUTPUT)

    async def read(self, content: Input, filename: str, tenant: str = "", size: int = 0) -> Document:
        """Return the text of a file; its kind is detected from its bytes, else from its name.

        `size` is the number of bytes of content that arrives in parts. Raises `DocumentError`, and errors of the parts.
        The wait for the tenant's turn is limited only by the length of the queue.
        """
        head, payload = await self._ask(content, tenant, size, task="text", filename=filename, longest=LONGEST)
        try:
            return Document(str(payload, "utf-8"), int(head["pages"]), bool(head["is_cut"]), str(head["kind"]))
        except (KeyError, TypeError, ValueError) as error:
            raise _failed(ChildError("broken")) from error

    async def pages(self, content: bytes, *, first: int, count: int, pixels: int, tenant: str = "") -> Sequence[bytes]:
        """Return pages of a PDF as PNG images, from page `first` (0 is the first one), fewer if they are too large.

        `pixels` is the length of an image's longer side. Raises `DocumentError`.
        """
        task: dict[str, Any] = {"task": "pages", "first": first, "count": count, "pixels": pixels, "longest": LONGEST}
        head, payload = await self._ask(content, tenant, **task)
        try:
            sizes = [int(size) for size in head["sizes"]]
        except (KeyError, TypeError, ValueError) as error:
            raise _failed(ChildError("broken")) from error
        ends = list(accumulate(sizes))
        return [bytes(payload[end - size : end]) for size, end in zip(sizes, ends, strict=True)]

    async def _ask(self, content: Input, tenant: str, size: int = 0, **task: Any) -> tuple[dict[str, Any], memoryview]:
        """Return the head and the payload of an answer, which is not copied: it can be large."""
        asked = json.dumps(task | self._limits).encode() + b"\n"
        size = len(content) if isinstance(content, bytes) else size
        try:
            answer = await self._child.run(asked, content, tenant=tenant, cost=1 + size / COST)
            end = answer.find(b"\n") + 1 or len(answer)
            head, payload = json.loads(answer[:end]), memoryview(answer)[end:]
        except ChildError as error:
            raise _failed(error) from error
        except ValueError as error:
            raise _failed(ChildError("broken")) from error
        if not isinstance(head, dict):
            raise _failed(ChildError("broken"))
        if "code" in head:
            raise _problem(head)
        return head, payload


def _problem(head: dict[str, Any]) -> DocumentError:
    """Return the child process's error for a file; the child itself is untrusted."""
    code: Code = "unsupported_file" if head["code"] == "unsupported_file" else "invalid_file"
    reason: Reason = next((one for one in REASONS if one == head.get("reason")), "")
    return DocumentError(code, str(head.get("message")), reason)


def _failed(error: ChildError) -> DocumentError:
    if error.reason == "busy":
        return DocumentError("invalid_file", "Too many files are being read at once. Try again later.", "busy")
    if error.reason == "slow":
        return DocumentError("invalid_file", f"Reading the file took longer than {SECONDS:g} seconds.")
    return DocumentError(
        "invalid_file",
        f"Reading the file needs more than {MEMORY // 1024 // 1024} MB of memory or {CPU} seconds of CPU time, "
        "or the file is damaged.",
    )
