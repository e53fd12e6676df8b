"""Tables in text: csv and tsv."""

import csv
import sys

from antiphon.documents.extraction import plain
from antiphon.documents.extraction.output import Output

DELIMITERS = ",;\t|"


def read_csv(content: bytes, output: Output) -> None:
    """Write the rows unchanged; if their number is limited, the first ones, and how many are
    omitted.
    """
    text = plain.decoded(content)
    if output.bounds.rows is None:
        output.write(text)
    else:
        _write_first(text, output.bounds.rows, output)


def _write_first(text: str, most: int, output: Output) -> None:
    lines = text.splitlines(keepends=True)
    csv.field_size_limit(sys.maxsize)
    first = lines[0] if lines else ""
    reader = csv.reader(lines, delimiter=max(DELIMITERS, key=first.count))
    rows = 0
    end = len(lines)
    for _ in reader:
        rows += 1
        if rows == most:
            end = reader.line_num
    output.write("".join(lines[:end]))
    if rows > most:
        output.leave_out("rows", most, rows)
