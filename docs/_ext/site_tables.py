"""Tables that fit a phone: the label of its column on each cell, the number of columns as a class,
and breakable code.

The style sheet shows each row as a block on narrow screens, with the label before each cell. A
table with more than `WIDE` columns scrolls inside itself instead.
"""

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.writers.html5 import HTML5Translator

WIDE = 6
UNBROKEN = 16
"""Code up to this length stays on one line; longer code may break after its punctuation."""

ALIGNED = re.compile(r"\S {2,}\S|[─-╿]")
"""What only columns and drawings have: several spaces inside a line, or characters for lines."""


class LabelTables(SphinxTransform):
    """Write the heading of its column on each cell, and the number of columns on the table."""

    default_priority = 700

    def apply(self, **kwargs: Any) -> None:
        for table in self.document.findall(nodes.table):
            group = next(table.findall(nodes.tgroup))
            columns = len([child for child in group if isinstance(child, nodes.colspec)])
            table["classes"] += [f"columns-{columns}", *(["wide"] if columns > WIDE else [])]
            heads = [row for part in group if isinstance(part, nodes.thead) for row in part]
            labels = [entry.astext() for entry in heads[-1]] if heads else []
            for row in (row for part in group if isinstance(part, nodes.tbody) for row in part):
                if len(row) != len(labels):
                    continue
                for label, entry in zip(labels, row, strict=True):
                    entry["label"] = label
                    entry["classes"] += (
                        [] if entry.astext() or any(entry.findall(nodes.image)) else ["empty"]
                    )


class WrapOutput(SphinxTransform):
    """Let the lines of JSON and output wrap, unless the text has columns or a drawing."""

    default_priority = 700

    def apply(self, **kwargs: Any) -> None:
        for block in self.document.findall(nodes.literal_block):
            text = block.astext()
            if block.get("language") == "json" or (
                block.get("language") == "text" and not ALIGNED.search(text)
            ):
                block["classes"].append("wrapped")


def _visit_entry(self: HTML5Translator, node: nodes.Element) -> None:
    before = len(self.body)
    HTML5Translator.visit_entry(self, node)
    if label := node.get("label"):
        self.body[before] = self.body[before].replace("<td", f'<td data-label="{escape(label)}"', 1)


def _visit_literal(self: HTML5Translator, node: nodes.Element) -> None:
    if len(node["classes"]) or len(node) != 1 or not isinstance(node[0], nodes.Text):
        HTML5Translator.visit_literal(self, node)
        return
    text = node.astext()
    short = len(text) <= UNBROKEN
    self.body.append(
        self.starttag(
            node, "code", "", CLASS=f"docutils literal notranslate{' short' if short else ''}"
        )
    )
    self.body.append(escape(text) if short else breakable(text))
    self.body.append("</code>")
    raise nodes.SkipNode


def breakable(code: str) -> str:
    """Return code as HTML that may break after `_ . / = , : - [ ( |`, and never inside a word."""
    pieces = re.findall(r"[^_./=,:|(\[-]*[_./=,:|(\[-]+|[^_./=,:|(\[-]+", code)
    merged: list[str] = []
    for piece in pieces:  # a piece of one or two characters stays with the one before
        if merged and (len(piece) < 3 or len(merged[-1]) < 3):
            merged[-1] += piece
        else:
            merged.append(piece)
    return "<wbr>".join(escape(piece) for piece in merged)


def _depart_literal(self: HTML5Translator, node: nodes.Element) -> None:
    HTML5Translator.depart_literal(self, node)


def _depart_entry(self: HTML5Translator, node: nodes.Element) -> None:
    HTML5Translator.depart_entry(self, node)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform and how cells and code become HTML."""
    app.add_transform(LabelTables)
    app.add_transform(WrapOutput)
    app.add_node(nodes.entry, override=True, html=(_visit_entry, _depart_entry))
    app.add_node(nodes.literal, override=True, html=(_visit_literal, _depart_literal))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
