"""Tables in text: csv and tsv, limited to their first rows."""

import csv
import sys

from antiphon.documents.extraction import plain
from antiphon.documents.extraction.output import Output

MOST_ROWS = 1_000
"""Maximum rows of a sheet."""

DELIMITERS = ",;\t|"


def read_csv(content: bytes, output: Output) -> None:
    """Write the first rows unchanged, and how many are omitted."""
    text = plain.decoded(content)
    lines = text.splitlines(keepends=True)
    csv.field_size_limit(sys.maxsize)
    first = lines[0] if lines else ""
    reader = csv.reader(lines, delimiter=max(DELIMITERS, key=first.count))
    rows, end = 0, len(lines)
    for _ in reader:
        rows += 1
        if rows == MOST_ROWS:
            end = reader.line_num
    output.write("".join(lines[:end]))
    if rows > MOST_ROWS:
        output.mark(left_out(rows))


def left_out(rows: int) -> str:
    """Return the line that states how many rows are omitted."""
    return f"[Only the first {MOST_ROWS:,} of {rows:,} rows are shown.]\n"
