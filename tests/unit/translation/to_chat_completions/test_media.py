import base64
from dataclasses import replace

import pytest

from antiphon.errors import ClientError
from antiphon.protocol.items.content import InputFile
from antiphon.protocol.untrusted import framed_file
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.files import ReadFile, ReadFiles, UnreadFile
from antiphon.translation.to_chat_completions.media import file_parts

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
    for files in (None, ReadFiles()):
        (part,) = file_parts(
            InputFile(file_data=data, filename=name),
            DIALECTS["generic"],
            "input[0].content[0]",
            files,
        )
        assert part == {"type": "text", "text": framed_file("# Häuser", "notes.md")}
        assert 'content of the file "notes.md"' in part["text"]


@pytest.mark.parametrize("data", [PDF, f"data:application/pdf;base64,{PDF}"])
def test_a_pdf_goes_as_the_dialects_part(data):
    part = InputFile(file_data=data, filename="a.pdf")
    url = f"data:application/pdf;base64,{PDF}"

    assert file_parts(part, DIALECTS["openai"], "p") == [
        {"type": "file", "file": {"filename": "a.pdf", "file_data": url}}
    ]
    assert file_parts(part, DIALECTS["mistral"], "p") == [
        {"type": "document_url", "document_name": "a.pdf", "document_url": url}
    ]


def test_a_file_that_only_claims_to_be_text_is_not_inlined():
    part = InputFile(file_data=b64(b"\xff\xfe\x00"), filename="a.txt")

    assert file_parts(part, DIALECTS["openai"], "p")[0]["type"] == "file"


def test_a_url_is_passed_on_where_the_backend_fetches_it():
    part = InputFile(file_url="https://example.com/d/a.pdf?x=1")

    assert file_parts(part, DIALECTS["openrouter"], "p", ReadFiles()) == [
        {
            "type": "file",
            "file": {"filename": "a.pdf", "file_data": "https://example.com/d/a.pdf?x=1"},
        }
    ]


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
        file_parts(part, DIALECTS[dialect], "input[0].content[1]")

    assert (caught.value.status, caught.value.param) == (400, param)


@pytest.mark.parametrize(
    ("part", "dialect", "form"),
    [
        (InputFile(file_data=PDF, filename="a.pdf"), "generic", "text"),
        (InputFile(file_data=PDF, filename="a.pdf", detail="high"), "seeing", "pages"),
        (InputFile(file_data=PDF, filename="a.pdf", detail="low"), "seeing", "text"),
        (InputFile(file_data=b64("a,b"), filename="a.csv"), "generic", "text"),
        (InputFile(file_data=f"data:text/html;base64,{b64('<p>x')}"), "generic", "text"),
        (InputFile(file_data=b64(b"\xff\xfea\0"), filename="a.txt"), "generic", "text"),
        (InputFile(file_url="https://example.com/a.pdf"), "generic", "text"),
        (InputFile(file_url="https://example.com/a.pdf"), "openai", "data"),
        (InputFile(file_id="file-1"), "generic", "text"),
        (InputFile(file_id="file-1"), "openrouter", "data"),
    ],
)
def test_a_file_that_the_backend_does_not_read_is_read_first(part, dialect, form):
    seeing = replace(DIALECTS["generic"], sees_images=True)
    with pytest.raises(UnreadFile) as unread:
        file_parts(part, seeing if dialect == "seeing" else DIALECTS[dialect], "p", ReadFiles())

    assert unread.value.part is part
    assert unread.value.form == form


def test_a_file_that_was_read_is_its_text_and_its_pages():
    part = InputFile(file_data=PDF, filename="a.pdf")
    files = ReadFiles()
    files.add(
        ReadFile(part, "a.pdf", text="the text", images=["data:image/png;base64,AA=="]), "pages"
    )

    assert file_parts(part, replace(DIALECTS["generic"], sees_images=True), "p", files) == [
        {"type": "text", "text": "the text"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    ]


def test_a_stored_file_goes_to_a_backend_that_reads_files_with_its_data():
    part = InputFile(file_id="file-1")
    files = ReadFiles()
    files.add(ReadFile(part, "a.pdf", data=f"data:application/pdf;base64,{PDF}"), "data")

    assert file_parts(part, DIALECTS["openai"], "p", files) == [
        {
            "type": "file",
            "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
        }
    ]


def test_a_file_that_cannot_be_read_is_refused_with_its_reason():
    part = InputFile(file_data=PDF, filename="a.pdf")
    files = ReadFiles()
    files.add(
        ReadFile(part, error=ClientError("The PDF is damaged.", code="invalid_file", param="p")),
        "text",
    )

    with pytest.raises(ClientError, match="damaged"):
        file_parts(part, DIALECTS["generic"], "p", files)


def test_a_backend_that_reads_only_pdf_files_receives_the_text_of_others():
    word = InputFile(filename="a.docx", file_data="UEsDBBQAAAA=")
    pdf = InputFile(filename="a.pdf", file_data="JVBERi0xLjQ=")
    dialect = DIALECTS["messages"]

    with pytest.raises(UnreadFile) as unread:
        file_parts(word, dialect, "p", ReadFiles())
    files = ReadFiles()
    files.add(ReadFile(word, "a.docx", text="Its text."), "text")

    assert unread.value.form == "text"
    assert file_parts(word, dialect, "p", files) == [{"type": "text", "text": "Its text."}]
    (native,) = file_parts(pdf, dialect, "p", files)
    assert native["type"] == "file"
