"""Each page as Markdown next to its HTML, `llms.txt` and `llms-full.txt`, because agents read
documentation too.

The Markdown comes from the resolved document, so that includes, generated pages and the Python API
are in it, and tabs, cards and boxes are plain Markdown. `llms.txt` follows https://llmstxt.org: a
title, a summary, then the pages.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

Lines = list[str]
LANGUAGES = {"default": "", "none": "", "pycon3": "pycon", "console": "sh"}
SKIPPED = (
    *(
        nodes.comment,
        nodes.target,
        nodes.raw,
        nodes.system_message,
        nodes.substitution_definition,
        nodes.colspec,
    ),
    *(nodes.meta, addnodes.index, addnodes.highlightlang),
)


class Page:
    """Turns one resolved document into Markdown."""

    def __init__(
        self, env: BuildEnvironment, docname: str, images: dict[str, str] | None = None
    ) -> None:
        self.env = env
        self.docname = docname
        self.images = images or {}

    def text(self, document: nodes.document) -> str:
        """Return the page, with one newline at its end."""
        lines = self.blocks(document.children, 0)
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"

    def blocks(self, children: Iterable[nodes.Node], level: int) -> Lines:
        """Return blocks with an empty line between them."""
        lines: Lines = []
        for child in children:
            if (block := self.block(child, level)) and any(block):
                lines += [*([""] if lines else []), *block]
        return lines

    def block(self, node: nodes.Node, level: int) -> Lines:
        """Return one block as lines."""
        if isinstance(node, SKIPPED):
            return []
        if isinstance(node, nodes.Text | nodes.Inline) and not isinstance(node, nodes.image):
            return [self.inline([node]).strip()]
        assert isinstance(node, nodes.Element)
        for kind, method in BLOCKS.items():
            if isinstance(node, kind):
                found: Lines = method(self, node, level)
                return found
        if isinstance(node, nodes.TextElement):
            return self.inline(node.children).strip().split("\n")
        return self.blocks(node.children, level)

    def section(self, node: nodes.Element, level: int) -> Lines:
        return self.blocks(node.children, level + 1)

    def title(self, node: nodes.Element, level: int) -> Lines:
        return [f"{'#' * max(level, 1)} {self.inline(node.children)}"]

    def paragraph(self, node: nodes.Element, level: int) -> Lines:
        return self.inline(node.children).strip().split("\n")

    def bullets(self, node: nodes.Element, level: int) -> Lines:
        lines: Lines = []
        for number, item in enumerate(node.children, int(node.get("start", 1))):
            mark = f"{number}. " if isinstance(node, nodes.enumerated_list) else "- "
            lines += indented(self.blocks(item.children, level), mark)
        return lines

    def definitions(self, node: nodes.Element, level: int) -> Lines:
        lines: Lines = []
        for item in node.children:
            terms = [
                self.inline(each.children) for each in item.children if isinstance(each, nodes.term)
            ]
            others = [each for each in item.children if isinstance(each, nodes.definition)]
            body = self.blocks([child for each in others for child in each.children], level)
            lines += indented([f"**{', '.join(terms)}**", "", *body], "- ")
        return lines

    def fields(self, node: nodes.Element, level: int) -> Lines:
        lines: Lines = []
        for field in node.children:
            name, body = field.children
            lines += indented([f"**{name.astext()}**:", *self.blocks(body.children, level)], "- ")
        return lines

    def code(self, node: nodes.Element, level: int) -> Lines:
        text = node.astext()
        fallback = "pycon" if isinstance(node, nodes.doctest_block) else ""
        language = str(node.get("language", fallback))
        marks = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
        return [
            f"{marks}{LANGUAGES.get(language, language)}",
            *text.rstrip("\n").split("\n"),
            marks,
        ]

    def table(self, node: nodes.Element, level: int) -> Lines:
        group = next(node.findall(nodes.tgroup))
        rows = [[self.cell(entry) for entry in row] for row in group.findall(nodes.row)]
        if not rows:
            return []
        caption = [
            line
            for each in node.children
            if isinstance(each, nodes.title)
            for line in (f"**{each.astext()}**", "")
        ]
        lines = [f"| {' | '.join(row)} |" for row in rows]
        return [*caption, lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]

    def cell(self, entry: nodes.Element) -> str:
        texts = (
            " ".join(line for line in self.block(child, 0) if line) for child in entry.children
        )
        return "<br>".join(text for text in texts if text).replace("|", r"\|")

    def quote(self, node: nodes.Element, level: int) -> Lines:
        return [f"> {line}".rstrip() for line in self.blocks(node.children, level)]

    def box(self, node: nodes.Element, level: int) -> Lines:
        title = type(node).__name__.capitalize()
        children = list(node.children)
        if isinstance(node, nodes.admonition) and children and isinstance(children[0], nodes.title):
            title = self.inline(children.pop(0).children)
        return [
            f"> **{title}**",
            ">",
            *(f"> {line}".rstrip() for line in self.blocks(children, level)),
        ]

    def image(self, node: nodes.Element, level: int) -> Lines:
        return [self.picture(node)]

    def picture(self, node: nodes.Element) -> str:
        uri = str(node["uri"])
        if ":" not in uri:
            uri = self.relative(f"_images/{self.images.get(uri) or posixpath.basename(uri)}")
        return f"![{node.get('alt', '')}]({uri})"

    def relative(self, target: str) -> str:
        return posixpath.relpath(target, posixpath.dirname(self.docname) or ".")

    def transition(self, node: nodes.Element, level: int) -> Lines:
        return ["---"]

    def rubric(self, node: nodes.Element, level: int) -> Lines:
        return [f"**{self.inline(node.children)}**"]

    def container(self, node: nodes.Element, level: int) -> Lines:
        if node.get("design_component") == "card":
            return self.card(node)
        if node.get("literal_block") and isinstance(node[0], nodes.caption):
            return [f"`{node[0].astext()}`:", "", *self.blocks(node.children[1:], level)]
        return self.blocks(node.children, level)

    def card(self, node: nodes.Element) -> Lines:
        parts = [
            each
            for each in node.findall(nodes.Element)
            if each.get("design_component") == "card-title"
        ]
        title = parts[0].astext() if parts else ""
        texts = [
            self.inline(each.children)
            for each in node.findall(nodes.paragraph)
            if each.astext() != title
        ]
        links = [
            self.target(each)
            for each in node.findall(nodes.reference)
            if "sd-stretched-link" in str(each.parent) or each.get("refuri")
        ]
        words = " ".join(
            text for text in texts if not any(text == f"[{title}]({link})" for link in links)
        ).strip()
        head = f"[{title}]({links[0]})" if links else f"**{title}**"
        return [f"- {head}: {words}" if words else f"- {head}"]

    def tab(self, node: nodes.Element, level: int) -> Lines:
        return [f"**{node.astext()}**"]

    def nothing(self, node: nodes.Element, level: int) -> Lines:
        return []

    def toctree(self, node: nodes.Element, level: int) -> Lines:
        if node.get("hidden"):
            return []
        return [
            f"- [{title or self.title_of(doc)}]({self.relative(doc)}.md)"
            for title, doc in node["entries"]
        ]

    def title_of(self, docname: str) -> str:
        return straight(self.env.titles[docname].astext())

    def description(self, node: nodes.Element, level: int) -> Lines:
        """Return an entry of the Python API: its signatures as code, then its text."""
        lines: Lines = []
        signatures = [
            signature(each) for each in node.children if isinstance(each, addnodes.desc_signature)
        ]
        if signatures:
            lines += ["```python", *signatures, "```", ""]
        for each in node.children:
            if isinstance(each, addnodes.desc_content):
                lines += self.blocks(each.children, level)
        return lines

    def inline(self, children: Iterable[nodes.Node]) -> str:
        """Return inline nodes as Markdown."""
        return "".join(self.span(child) for child in children)

    def span(self, node: nodes.Node) -> str:
        if isinstance(node, nodes.Text):
            return straight(node.astext())
        if isinstance(node, SKIPPED):
            return ""
        assert isinstance(node, nodes.Element)
        if isinstance(node, nodes.literal):
            text = node.astext().replace("\n", " ")
            return f"`` {text} ``" if "`" in text else f"`{text}`"
        if isinstance(node, nodes.image):
            return self.picture(node)
        inner = self.inline(node.children)
        if isinstance(node, nodes.strong):
            return f"**{inner}**"
        if isinstance(node, nodes.emphasis):
            return f"*{inner}*"
        if isinstance(node, nodes.reference) and (target := self.target(node)):
            return f"[{inner}]({target})"
        return inner

    def target(self, node: nodes.Element) -> str:
        """Return where a reference leads; pages of this site as Markdown."""
        if node.get("refid"):
            return f"#{node['refid']}"
        uri = str(node.get("refuri", ""))
        if ":" in uri.split("/", maxsplit=1)[0]:
            return uri
        return re.sub(r"\.html(?=#|$)", ".md", uri)


BLOCKS: dict[Any, Any] = {
    addnodes.desc: Page.description,  # docutils counts it among the boxes
    nodes.section: Page.section,
    nodes.title: Page.title,
    nodes.paragraph: Page.paragraph,
    (nodes.bullet_list, nodes.enumerated_list): Page.bullets,
    nodes.definition_list: Page.definitions,
    nodes.field_list: Page.fields,
    (nodes.literal_block, nodes.doctest_block): Page.code,
    nodes.table: Page.table,
    nodes.Admonition: Page.box,
    nodes.block_quote: Page.quote,
    nodes.image: Page.image,
    nodes.transition: Page.transition,
    nodes.rubric: Page.rubric,
    addnodes.toctree: Page.toctree,
    nodes.container: Page.container,
}


def straight(text: str) -> str:
    """Return a text with the quotation marks of its source."""
    return text.translate({0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"'})


def indented(lines: Lines, mark: str) -> Lines:
    """Return a list item: its first line after the mark, the others below it."""
    space = " " * len(mark)
    return [f"{mark if at == 0 else space}{line}".rstrip() for at, line in enumerate(lines or [""])]


def signature(node: nodes.Element) -> str:
    """Return a signature as one line of Python, methods with their class."""
    parts: list[str] = []
    for child in node.children:
        if isinstance(child, addnodes.desc_parameterlist):
            parts.append(f"({', '.join(each.astext() for each in child.children)})")
        elif isinstance(child, addnodes.desc_name):
            parts.append(str(node.get("fullname") or child.astext()))
        elif not isinstance(child, addnodes.desc_addname):
            parts.append(child.astext())
    return "".join(parts).strip()


def write_page(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Write one page next to its HTML."""
    if app.builder.format != "html":
        return
    path = Path(app.outdir, f"{docname}.md")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(Page(app.env, docname, app.builder.images).text(doctree))


def has_markdown(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Pass to the templates whether a page has Markdown; the search page does not."""
    context["has_markdown"] = doctree is not None


def in_order(env: BuildEnvironment, docname: str) -> Iterator[str]:
    """Return the pages in the order of the navigation."""
    yield docname
    for child in env.toctree_includes.get(docname, []):
        yield from in_order(env, child)


def summary(path: Path) -> str:
    """Return the first sentence of a page, without its links."""
    text = re.sub(r"^(`{3,}).*?^\1$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    prose = (
        block
        for block in re.split(r"\n\s*\n", text)
        if not re.match(r"[#|>!]|[-*] |\d+\. |\s*$", block)
    )
    first = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", next(prose, "").strip().replace("\n", " "))
    return (re.match(r".*?[.!?](?=\s|$)", first) or [first])[0].rstrip(":")


def llms(app: Sphinx, pages: Iterable[str]) -> str:
    """Return `llms.txt`: each group of the navigation, with a link and a sentence for each page."""
    root = app.config.root_doc
    out = Path(app.outdir)
    first = (out / f"{root}.md").read_text().split("\n\n")
    lines = [first[0], "", f"> {first[1].replace(chr(10), ' ')}", ""]
    lines += [
        "Every page of this documentation is also Markdown: replace `.html` by `.md` in its "
        "address.",
        "",
    ]
    for group in app.env.toctree_includes.get(root, []):
        lines += [f"## {app.env.titles[group].astext()}", ""]
        for page in in_order(app.env, group):
            text = summary(out / f"{page}.md")
            lines.append(
                "- "
                f"[{straight(app.env.titles[page].astext())}]({page}.md){': ' if text else ''}{text}"  # noqa: E501 - one text, or a row of a table
            )
        lines.append("")
    return "\n".join(lines)


def write_llms(app: Sphinx, error: Exception | None) -> None:
    """Write `llms.txt` and `llms-full.txt`."""
    if error is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    pages = list(dict.fromkeys(in_order(app.env, app.config.root_doc)))
    (out / "llms.txt").write_text(llms(app, pages))
    whole = (f"<!-- {page}.md -->\n\n{(out / f'{page}.md').read_text()}" for page in pages)
    (out / "llms-full.txt").write_text("\n".join(whole))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hooks."""
    from sphinx_design.tabs import sd_tab_input, sd_tab_label  # noqa: PLC0415 - the extension is loaded by now

    BLOCKS[sd_tab_input] = Page.nothing
    BLOCKS[sd_tab_label] = Page.tab
    app.connect("doctree-resolved", write_page, priority=900)
    app.connect("html-page-context", has_markdown)
    app.connect("build-finished", write_llms)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
