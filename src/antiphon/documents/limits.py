"""The limits of documents: one set for documents that a request contains, one for those that are
ingested.

The text that the model reads states what a limit of requests has cut. Ingestion cuts nothing: a
file above a limit fails.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """What is read of a document, and with which resources."""

    version: int
    """Changes whenever the same bytes can result in another text, and differs between the two sets
    of limits.

    A stored text of another version is not used.
    """
    rows: int | None
    """Rows of a table or a sheet; None means all."""
    columns: int | None
    """Columns of a sheet; None means all."""
    pages: int | None
    """Pages of a PDF that are read for their text; None means all."""
    cpu: int
    """Seconds of CPU time of a child process."""
    seconds: float
    """For one document, after the tenant's turn has come: more than `cpu`, as other processes can
    be busy.
    """
    longest: int = 20_000_000
    """Bytes of a document's text in UTF-8, of which four are an estimated token: 5 million
    tokens.
    """
    memory: int = 600 * 1024 * 1024
    """Bytes of address space of a child process."""


REQUEST = DocumentLimits(version=2, rows=1_000, columns=1_000, pages=2_000, cpu=20, seconds=60.0)
"""For an `input_file`: a model can read the text of a whole file only if that is short."""

INGESTION = DocumentLimits(version=3, rows=None, columns=None, pages=None, cpu=60, seconds=180.0)
"""For a vector store. A workbook with 20 MB of text needs 8 seconds of CPU time and 90 MB of
memory.
"""
