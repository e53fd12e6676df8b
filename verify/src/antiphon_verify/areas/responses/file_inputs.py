"""Files in a request: each format and each place once, and unreadable files."""

import base64
import io
import zipfile
from typing import Any

from antiphon_verify.case import case
from antiphon_verify.reading import at
from antiphon_verify.refusal import is_refused
from antiphon_verify.replies.responses import file_inputs as replies
from antiphon_verify.requirement import capability, may, should
from antiphon_verify.samples import TEA, WEATHER, accepted, is_accepted
from antiphon_verify.trial import Steps, Trial

PDF = (
    "JVBERi0xLjEKMSAwIG9iajw8L1R5cGUvQ2F0YWxvZy9QYWdlcyAyIDAgUj4+CmVuZG9iagoyIDAgb2JqPDwvVHlwZS9QYWdlcy9L"
    "aWRzWzMgMCBSXS9Db3VudCAxPj4KZW5kb2JqCjMgMCBvYmo8PC9UeXBlL1BhZ2UvUGFyZW50IDIgMCBSL01lZGlhQm94WzAgMCAy"
    "MDAgMTAwXS9Db250ZW50cyA0IDAgUi9SZXNvdXJjZXM8PC9Gb250PDwvRiA1IDAgUj4+Pj4+PgplbmRvYmoKNCAwIG9iajw8L0xl"
    "bmd0aCA0MT4+c3RyZWFtCkJUL0YgMTIgVGYgMjAgNTAgVGQoVGVhIGlzIGF0IGZvdXIuKVRqIEVUCmVuZHN0cmVhbQplbmRvYmoK"
    "NSAwIG9iajw8L1R5cGUvRm9udC9TdWJ0eXBlL1R5cGUxL0Jhc2VGb250L0hlbHZldGljYT4+CmVuZG9iagp4cmVmCjAgNgowMDAw"
    "MDAwMDAwIDY1NTM1IGYgCjAwMDAwMDAwMDkgMDAwMDAgbiAKMDAwMDAwMDA1MyAwMDAwMCBuIAowMDAwMDAwMTAzIDAwMDAwIG4g"
    "CjAwMDAwMDAyMTMgMDAwMDAgbiAKMDAwMDAwMDMwMCAwMDAwMCBuIAp0cmFpbGVyPDwvUm9vdCAxIDAgUi9TaXplIDY+PgpzdGFy"
    "dHhyZWYKMzYyCiUlRU9G"
)
"""A PDF page with the time of tea."""


def docx(text: str) -> str:
    """Return a Word document with one paragraph, in base64."""
    content = io.BytesIO()
    namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    with zipfile.ZipFile(content, "w") as archive:
        paragraph = f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"
        xml = f'<w:document xmlns:w="{namespace}"><w:body>{paragraph}</w:body></w:document>'
        archive.writestr(zipfile.ZipInfo("word/document.xml"), xml)
    return base64.b64encode(content.getvalue()).decode()


def file(name: str, media_type: str, data: str, **more: Any) -> dict[str, Any]:
    """Return the part for a file with the base64 text `data`; without a media type it has no data
    URL.
    """
    return {
        "type": "input_file",
        "filename": name,
        "file_data": f"data:{media_type};base64,{data}" if media_type else data,
        **more,
    }


def of(text: str) -> str:
    """Return a text in base64."""
    return base64.b64encode(text.encode()).decode()


def user(*files: dict[str, Any]) -> dict[str, Any]:
    """Return a user message with these files."""
    return {"role": "user", "content": [{"type": "input_text", "text": "When is tea?"}, *files]}


A_PDF = file("a.pdf", "application/pdf", PDF)

A_DOCX = file(
    "a.docx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    docx("Tea is at four."),
)

CALL = {
    "type": "function_call",
    "call_id": "call_1",
    "name": "get_weather",
    "arguments": '{"city": "Paris"}',
}


CASES = (
    accepted(
        capability(
            should(
                "responses:file-inputs:pdf",
                "spec 5",
                "A message can contain a PDF as a data URL in `file_data`.",
            )
        ),
        input=[user(A_PDF)],
    ),
    accepted(
        capability(
            should(
                "responses:file-inputs:bare",
                "spec 5",
                "`file_data` can be base64 without a data URL, with a `filename`.",
            )
        ),
        input=[user(file("a.pdf", "", PDF))],
    ),
    accepted(
        capability(
            should("responses:file-inputs:docx", "spec 5", "A message can contain a Word document.")
        ),
        input=[user(A_DOCX)],
    ),
    accepted(
        capability(
            should("responses:file-inputs:table", "spec 5", "A message can contain a table as CSV.")
        ),
        input=[user(file("a.csv", "text/csv", of("meal,hour\ntea,4\n")))],
    ),
    accepted(
        capability(
            should("responses:file-inputs:page", "spec 5", "A message can contain an HTML page.")
        ),
        input=[user(file("a.html", "text/html", of("<h1>Tea</h1><p>At four.</p>")))],
    ),
    accepted(
        capability(
            should(
                "responses:file-inputs:text",
                "spec 5",
                "A message can contain a text file in any script.",
            )
        ),
        input=[user(file("a.txt", "text/plain", of(TEA)))],
    ),
    accepted(
        capability(may("responses:file-inputs:detail", "spec 5", "A file can have a `detail`.")),
        input=[user(A_PDF | {"detail": "low"})],
    ),
    accepted(
        capability(
            should("responses:file-inputs:output", "spec 5", "A tool output can contain a file.")
        ),
        input=[
            user(),
            CALL,
            {"type": "function_call_output", "call_id": "call_1", "output": [A_PDF]},
        ],
        tools=[WEATHER],
    ),
    accepted(
        capability(
            should(
                "responses:file-inputs:several", "spec 5", "A message can contain several files."
            )
        ),
        input=[user(A_PDF, A_DOCX)],
    ),
)


@case(
    capability(
        should(
            "responses:file-inputs:chain",
            "spec 10",
            "A chain continues after a message with a file.",
            fault=[replies.ACCEPTED, replies.REJECTED],
        )
    ),
    good=[replies.ACCEPTED, replies.ACCEPTED],
)
def a_chain_goes_on_after_a_file(trial: Trial) -> Steps:
    """Send a file, and continue the response."""
    exchange = yield from trial.respond([user(A_PDF)], store=True)
    trial.offered(exchange)
    first = trial.response(exchange)
    exchange = yield from trial.respond("And coffee?", previous_response_id=at(first, "id"))
    trial.expect("responses:file-inputs:chain", is_accepted(exchange), exchange.came)


@case(
    capability(
        should(
            "responses:file-inputs:damaged",
            "spec 13",
            "A damaged PDF is rejected with a 4xx.",
            fault=[replies.ACCEPTED],
        )
    ),
    good=[replies.DAMAGED],
)
def a_damaged_file_is_refused(trial: Trial) -> Steps:
    """Send a PDF that ends after its first line."""
    exchange = yield from trial.respond([user(file("a.pdf", "application/pdf", of("%PDF-1.7\n")))])
    trial.expect("responses:file-inputs:damaged", is_refused(exchange), exchange.came)


@case(
    capability(
        should(
            "responses:file-inputs:unknown",
            "spec 13",
            "An unknown `file_id` is rejected with a 4xx.",
            fault=[replies.ACCEPTED],
        )
    ),
    good=[replies.UNKNOWN],
)
def an_unknown_file_is_refused(trial: Trial) -> Steps:
    """Name an unknown file."""
    exchange = yield from trial.respond(
        [user({"type": "input_file", "file_id": "file-AAAAAAAAAAAAAAAAAAAAAA"})]
    )
    trial.expect("responses:file-inputs:unknown", is_refused(exchange), exchange.came)
