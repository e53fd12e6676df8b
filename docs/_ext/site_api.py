"""The Python API from its docstrings: names in backticks link to their entries, and data classes
become tables.

`sphinx.ext.autodoc` documents classes with methods, and functions. The directive `structs`
documents classes that are mostly fields: one table for each, with the type, the default and the
meaning of each field:

    .. structs:: antiphon.types

       Message Reasoning
"""

import dataclasses
import functools
import inspect
import operator
import posixpath
import re
import types
import typing
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import msgspec
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.typing import stringify_annotation

NAMES = (
    *(
        "responses",
        "conversations",
        "models",
        "files",
        "vector_stores",
        "vector_store_files",
        "containers",
    ),
    *("prompts", "embeddings", "images"),
)
"""Modules of resources, of either client."""
RESOURCES = (
    "antiphon.library.sync_client",
    "antiphon.library.async_client",
    *(f"antiphon.library.sync_resources.{name}" for name in NAMES),
    *(f"antiphon.library.resources.{name}" for name in NAMES),
    "antiphon.library.contents",
    "antiphon.library.file_parameters",
    "antiphon.library.streams",
    "antiphon.library.pages",
    "antiphon.library.parameters",
    "antiphon.library.asgi_app",
    "antiphon.upstream.backend",
)
"""Modules with classes that a program receives from methods, so that their constructors are not
documented.
"""
ALIASES = (
    "antiphon.types.InputItem",
    "antiphon.types.OutputItem",
    "antiphon.protocol.requests.Include",
    "antiphon.upstream.scripted.Answer",
)
BUILT = {"antiphon.Antiphon", "antiphon.AsyncAntiphon"}


class NameRole(SphinxRole):
    """Code in a docstring: a link if it is the name of something documented, otherwise plain
    code.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        literal = nodes.literal(self.text, self.text)
        if not re.fullmatch(r"[A-Za-z_][\w.]*(\(\))?", self.text):
            return [literal], []
        name = self.text.removesuffix("()")
        reference = pending_xref(
            "", literal, refdomain="py", reftype="obj", reftarget=name, refdoc=self.env.docname
        )
        return [reference], []


class Structs(SphinxDirective):
    """Document classes of fields: `.. structs:: MODULE`, then their names."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        module = import_module(self.arguments[0])
        found: list[nodes.Node] = []
        for name in " ".join(self.content).split():
            text = linking(
                "\n".join(described(module.__name__, name, getattr(module, name))), self.env.docname
            )
            found += self.parse_text_to_nodes(text, offset=self.content_offset)
        return found


def linking(text: str, docname: str) -> str:
    """Return a text with links of reStructuredText instead of Markdown's, which lead from the page
    of the settings.
    """

    def link(found: re.Match[str]) -> str:
        path = posixpath.relpath(
            posixpath.join("reference", found["path"]), posixpath.dirname(docname)
        )
        return f"`{found['text'].replace('`', '')} <{path}.html{found['anchor'] or ''}>`__"

    return re.sub(r"\[(?P<text>[^\]]+)\]\((?P<path>[\w./-]+)\.md(?P<anchor>#[\w-]+)?\)", link, text)


def described(module: str, name: str, kind: Any) -> Iterator[str]:
    """Return the entry of a class, or of a union of classes, as lines of reStructuredText."""
    if not inspect.isclass(kind):
        meaning = ModuleAnalyzer.for_module(module).find_attr_docs().get(("", name), [])
        yield from (
            f".. py:data:: {name}",
            f"   :module: {module}",
            "",
            f"   {linked(plain_type(kind))}",
            "",
        )
        yield from (*(f"   {line}".rstrip() for line in meaning), "")
        return
    yield from (f".. py:class:: {name}", f"   :module: {module}", "")
    yield from (f"   {line}".rstrip() for line in (inspect.getdoc(kind) or "").splitlines())
    yield ""
    rows = list(fields(kind))
    if rows:
        documented = any(row[3] for row in rows)
        heads = ("Field", "Type", "Default", *(("Meaning",) if documented else ()))
        yield from ("   .. list-table::", "      :header-rows: 1", "      :class: fields", "")
        for row in (heads, *(row[: len(heads)] for row in rows)):
            yield from (
                f"      {'* -' if at == 0 else '  -'} {cell}" for at, cell in enumerate(row)
            )
        yield ""


def fields(kind: type) -> Iterator[tuple[str, str, str, str]]:
    """Return the name, the type, the default and the meaning of each field of a class."""
    meanings = documentation(kind)
    if issubclass(kind, msgspec.Struct):
        config = kind.__struct_config__
        if config.tag is not None:
            yield code(config.tag_field or "type"), code(f'"{config.tag}"'), "", ""
        for field in msgspec.structs.fields(kind):
            default = "required" if field.required else code(repr_of(field))
            yield (
                code(field.name),
                linked(plain_type(field.type)),
                default,
                meanings.get(field.name, ""),
            )
    elif dataclasses.is_dataclass(kind):
        for each in dataclasses.fields(kind):
            is_required = each.default is each.default_factory is dataclasses.MISSING
            default = "required" if is_required else code(displayed(each.default))
            yield (
                code(each.name),
                linked(plain_type(each.type)),
                default,
                meanings.get(each.name, ""),
            )
    elif typing.is_typeddict(kind):
        for name, annotation in typing.get_type_hints(kind).items():
            default = "required" if name in getattr(kind, "__required_keys__", ()) else ""
            yield code(name), linked(plain_type(annotation)), default, meanings.get(name, "")


def displayed(value: Any) -> str:
    """Return a value as Python writes it, sets in order."""
    return (
        f"{{{', '.join(map(repr, sorted(value)))}}}"
        if isinstance(value, frozenset) and value
        else repr(value)
    )


def repr_of(field: Any) -> str:
    """Return the default of a field as Python writes it."""
    if field.default is not msgspec.NODEFAULT:
        return "absent" if field.default is msgspec.UNSET else repr(field.default)
    created = field.default_factory
    return repr(created()) if created in {list, dict, set, tuple} else "computed"


def documentation(kind: type) -> dict[str, str]:
    """Return the text below each field of a class and of its bases, on one line."""
    texts: dict[str, str] = {}
    for base in reversed(sources(kind)):
        found = ModuleAnalyzer.for_module(base.__module__).find_attr_docs()
        texts |= {
            name: " ".join(lines).strip()
            for (owner, name), lines in found.items()
            if owner == base.__qualname__
        }
    return texts


def sources(kind: type) -> list[type]:
    """Return the class and its bases; for a typed dictionary, the typed dictionaries of its module
    that it extends.
    """
    if not typing.is_typeddict(kind):
        return [base for base in kind.__mro__ if base.__module__.startswith("antiphon.")]
    others = vars(import_module(kind.__module__)).values()
    bases = [
        each
        for each in others
        if typing.is_typeddict(each)
        and kind.__annotations__.items() >= each.__annotations__.items()
    ]
    return [kind, *bases]


def plain_type(annotation: Any) -> str:
    """Return a type as a reader writes it, without modules and limits."""
    text = stringified(without_limits(annotation))
    for name, union in aliases().items():
        if annotation is not union:
            text = text.replace(stringified(union), name.rpartition(".")[2])
    bare = re.sub(r"('[^']*')|\b(?:\w+\.)+(?=[A-Za-z_])", lambda found: found[1] or "", text)
    return bare.replace("UnsetType", "absent")


@functools.cache
def aliases() -> dict[str, Any]:
    """Return the unions that signatures show by name, because a list of thirty types says less."""
    names = (name.rpartition(".") for name in ALIASES)
    return {f"{module}.{name}": getattr(import_module(module), name) for module, _, name in names}


def stringified(annotation: Any) -> str:
    """Return a type as Python writes it."""
    return stringify_annotation(annotation, "fully-qualified-except-typing", short_literals=True)


def linked(text: str) -> str:
    """Return a type as code, each name linked to its entry if the type only consists of names."""
    if not re.fullmatch(r"[A-Za-z]\w*( \| [A-Za-z]\w*)*", text):
        return code(text)
    return " or ".join(f"`{name}`" for name in text.split(" | "))


def without_limits(annotation: Any) -> Any:
    """Return a type without the limits of its `Annotated` parts."""
    origin: Any = typing.get_origin(annotation)
    parts = typing.get_args(annotation)
    if origin is typing.Annotated:
        return without_limits(parts[0])
    if origin in {typing.Union, types.UnionType}:
        return functools.reduce(operator.or_, map(without_limits, parts))
    if inspect.isclass(origin) and parts and not any(isinstance(part, list) for part in parts):
        generic: Any = origin
        return generic[tuple(map(without_limits, parts))]
    return annotation


def code(text: str) -> str:
    """Return a text as code in reStructuredText; a part that contains backticks stays plain."""
    return f"``{text}``" if text else ""


def resolve_name(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> Any:
    """Link a type, or a name in a docstring, to its public entry; a name without one stays text.

    References that a page wrote itself are left to Sphinx, which warns.
    """
    if node.get("refdomain") != "py" or "refexplicit" in node:
        return None
    target = str(node["reftarget"])
    objects = env.get_domain("py").objects  # type: ignore[attr-defined]
    last = target.rsplit(".", 1)[-1]
    known = target.startswith(("antiphon.", "antiphon_verify.")) or "." not in target
    candidates = (
        target,
        f"antiphon.{last}",
        f"antiphon.types.{last}",
        f"antiphon.testing.{last}",
        f"antiphon.translation.{last}",
    )
    homes = (f"{home}.{last}" for home in RESOURCES)
    entry = (
        next((objects[name] for name in (*candidates, *homes) if name in objects), None)
        if known
        else None
    )
    if entry is None or (last.islower() and entry.objtype == "attribute"):
        return content
    reference = nodes.reference("", "", content, internal=True)
    if entry.docname == node.get("refdoc"):
        reference["refid"] = entry.node_id
    else:
        uri = app.builder.get_relative_uri(node.get("refdoc", ""), entry.docname)
        reference["refuri"] = f"{uri}#{entry.node_id}"
    return reference


def shorten(
    app: Sphinx,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Show no parameters for classes that programs do not construct, and only the required ones of
    structs.
    """
    is_error = inspect.isclass(obj) and issubclass(obj, Exception)
    if (
        what in {"class", "exception"}
        and (obj.__module__.startswith(RESOURCES) or is_error)
        and name not in BUILT
    ):
        return "", None
    if (
        what == "class" and inspect.isclass(obj) and issubclass(obj, msgspec.Struct)
    ):  # its fields are documented below it
        required = [field for field in msgspec.structs.fields(obj) if field.required]
        return (
            f"({', '.join(f'{field.name}: {plain_type(field.type)}' for field in required)}, "
            "**fields)",
            None,
        )
    return named(signature), named(returns)


def named(text: str | None) -> str | None:
    """Return a signature with the names of long unions."""
    for name, union in aliases().items():
        text = text and text.replace(stringify_annotation(union, "smart"), f"~{name}")
    return text


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the role, the directive, the resolver and the signatures."""
    app.add_role("name", NameRole())
    app.add_directive("structs", Structs)
    app.connect("missing-reference", resolve_name)
    app.connect("autodoc-process-signature", shorten)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
