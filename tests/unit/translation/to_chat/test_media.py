import base64

import pytest

from antiphon.errors import ClientError
from antiphon.protocol.items.content import InputFile
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.to_chat.media import file_part

PDF = base64.b64encode(b"%PDF-1.4 \xff").decode()


def b64(text: str | bytes) -> str:
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b64("# Häuser"), "notes.md"),
        (f"data:text/plain;base64,{b64('# Häuser')}", "notes.md"),
        (f"data:application/json; charset=utf-8;base64,{b64('# Häuser')}", "notes.md"),
        (b64(b"\xef\xbb\xbf" + "# Häuser".encode()), "notes.md"),
    ],
)
def test_a_text_file_goes_into_the_message_under_its_name(data, name):
    part = file_part(InputFile(file_data=data, filename=name), DIALECTS["generic"], "input[0].content[0]")

    assert part == {"type": "text", "text": '<file name="notes.md">\n# Häuser\n</file>'}


@pytest.mark.parametrize("data", [PDF, f"data:application/pdf;base64,{PDF}"])
def test_a_pdf_goes_as_the_dialects_part(data):
    part = InputFile(file_data=data, filename="a.pdf")
    url = f"data:application/pdf;base64,{PDF}"

    assert file_part(part, DIALECTS["openai"], "p") == {"type": "file", "file": {"filename": "a.pdf", "file_data": url}}
    assert file_part(part, DIALECTS["mistral"], "p") == {
        "type": "document_url",
        "document_name": "a.pdf",
        "document_url": url,
    }


def test_a_file_that_only_claims_to_be_text_is_not_inlined():
    part = InputFile(file_data=b64(b"\xff\xfe\x00"), filename="a.txt")

    assert file_part(part, DIALECTS["openai"], "p")["type"] == "file"


def test_a_url_is_passed_on_where_the_backend_fetches_it():
    part = InputFile(file_url="https://example.com/d/a.pdf?x=1")

    assert file_part(part, DIALECTS["openrouter"], "p") == {
        "type": "file",
        "file": {"filename": "a.pdf", "file_data": "https://example.com/d/a.pdf?x=1"},
    }


@pytest.mark.parametrize(
    ("part", "dialect", "param"),
    [
        (InputFile(file_data=PDF, filename="a.pdf"), "groq", "input[0].content[1].file_data"),
        (InputFile(file_url="https://example.com/a.pdf"), "openai", "input[0].content[1].file_url"),
        (InputFile(file_id="file-1"), "openai", "input[0].content[1].file_id"),
        (InputFile(file_data="%%%"), "openai", "input[0].content[1].file_data"),
        (InputFile(file_data="data:text/plain,hello"), "openai", "input[0].content[1].file_data"),
        (InputFile(), "openai", "input[0].content[1].file_data"),
    ],
)
def test_what_cannot_be_sent_is_refused_by_its_place(part, dialect, param):
    with pytest.raises(ClientError) as caught:
        file_part(part, DIALECTS[dialect], "input[0].content[1]")

    assert (caught.value.status, caught.value.param) == (400, param)
