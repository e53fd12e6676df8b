"""Write the resources of `Antiphon` from those of `AsyncAntiphon`: one description of each method
for both.

`python scripts/sync_client.py` writes `library/sync_resources/`; a test compares the files with
what it writes. A method of the result has the signature and the docstring of its coroutine, and
runs it in the thread of the client. Examples of docstrings lose their event loop and their `await`.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

LIBRARY = Path(__file__).parents[1] / "src/antiphon/library"
SOURCE = LIBRARY / "resources"
TARGET = LIBRARY / "sync_resources"

RENAMED = {
    "AsyncModelList": "ModelList",
    "AsyncPages": "Pages",
    "AsyncResponseStream": "ResponseStream",
    "AsyncStream": "Stream",
}
"""Classes with another name in the result than without `Async`, or in another module."""

IMPORTS = """
from typing import Any
from antiphon.library.background_loop import LoopOwner
from antiphon.library.pages import Pages
from antiphon.library.streams import AsyncResponseStream, AsyncStream, ResponseStream, Stream
from antiphon.library.resources.{module} import {classes}
"""

BODIES = {
    "AsyncPages": "return Pages(self._resource.{call}, self._owner)",
    "AsyncModelList": "return self._owner.run(self._resource.{call}.fetch())",
    "AsyncResponseStream": "method: Any = self._resource.{name}\nreturn "
    "ResponseStream(method{arguments}, self._owner)",
}
"""The body of a method that is no coroutine, by what it returns."""

COROUTINE = "return self._owner.run(self._resource.{call})"

OVERLOADED = """
method: Any = self._resource.{name}
result_stream: Any = self._owner.run(method{arguments})
result: {returns} = {stream}(result_stream, self._owner) if isinstance(result_stream, Async{stream}) else result_stream
return result
"""  # noqa: E501 - the lines of a text
"""The body of a method that returns a stream in some cases; the overloads of the coroutine do not
accept unions.
"""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def written() -> Iterator[tuple[Path, str]]:
    """Yield each file of the result with its code, not yet formatted."""
    for path in sorted(SOURCE.glob("*.py")):
        yield TARGET / path.name, translated(path.stem, path.read_text())


def translated(module: str, code: str) -> str:
    """Return the code of a module of resources without `await`."""
    tree = ast.parse(code)
    docstring = renamed(ast.get_docstring(tree) or "")
    if module == "__init__":
        return '"""The resources of `Antiphon`, written by `scripts/sync_client.py`."""\n'
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    body = [created for node in classes for created in ast.parse(resource(node)).body]
    names = ", ".join(node.name for node in classes)
    imports = ast.parse(IMPORTS.format(module=module, classes=names)).body
    stored = [
        node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom | ast.Assign)
    ]
    used = used_names(body)
    head = [
        node
        for node in (*map(of_result, stored), *imports)
        if save(node, used | used_names(assigned(stored, used)))
    ]
    title = ast.parse(f'"""{docstring}\n\nWritten by `scripts/sync_client.py`.\n"""').body
    head.sort(key=lambda node: isinstance(node, ast.Assign))
    return ast.unparse(ast.Module([*title, *head, *body], [])) + "\n"


def resource(node: ast.ClassDef) -> str:
    """Return the code of a class."""
    lines = [f"class {renamed(node.name)}:", indented(docstring_of(node))]
    for method in node.body:
        if isinstance(method, Function) and method.name == "__init__":
            lines.append(indented(constructor(node.name, method)))
        elif isinstance(method, Function) and not method.name.startswith("_"):
            lines.append(indented(method_of(method)))
    return "\n".join(lines)


def constructor(name: str, init: Function) -> str:
    """Return the constructor: the coroutines' object, and the owner of their loop."""
    lines = [f"def __init__(self, resource: {name}, owner: LoopOwner) -> None:"]
    lines += ["    self._resource = resource", "    self._owner = owner"]
    for statement in init.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            attribute = ast.unparse(statement.targets[0]).removeprefix("self.")
            inner = renamed(ast.unparse(statement.value.func))
            lines.append(f"    self.{attribute} = {inner}(resource.{attribute}, owner)")
    return "\n".join(lines)


def method_of(node: Function) -> str:
    """Return the code of a method."""
    decorators = [f"@{ast.unparse(one)}" for one in node.decorator_list]
    returns = ast.unparse(node.returns) if node.returns else "None"
    head = f"def {node.name}({ast.unparse(node.args)}) -> {renamed(returns)}:"
    if "@overload" in decorators:
        return "\n".join([*decorators, f"{renamed(head)} ..."])
    arguments = f"({passed(node.args)})"
    values = {
        "call": f"{node.name}{arguments}",
        "name": node.name,
        "arguments": arguments,
        "returns": renamed(returns),
    }
    if isinstance(node, ast.AsyncFunctionDef):
        found = re.search(r"\bAsync(\w*Stream)\b", returns)
        body, values["stream"] = (OVERLOADED, found[1]) if found else (COROUTINE, "")
    else:
        body = BODIES[returns.partition("[")[0]]
    code = [docstring_of(node), *body.strip().format(**values).split("\n")]
    return "\n".join([*decorators, renamed(head), *map(indented, code)])


def passed(arguments: ast.arguments) -> str:
    """Return the arguments with which a method calls its coroutine."""
    positional = [one.arg for one in arguments.args if one.arg != "self"]
    named = [f"{one.arg}={one.arg}" for one in arguments.kwonlyargs]
    rest = [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
    return ", ".join([*positional, *named, *rest])


def docstring_of(node: ast.ClassDef | Function) -> str:
    """Return a docstring as code, with examples for a program without an event loop."""
    text, *example = (ast.get_docstring(node) or "").partition(">>> ")
    lines = renamed(text).rstrip() + (
        "\n\n" + without_await("".join(example)) + "\n" if example[0] else ""
    )
    return f'"""{lines}"""' if lines.count("\n") < 2 else f'"""{lines.rstrip()}\n"""'


def without_await(example: str) -> str:
    """Return an example without its event loop."""
    lines = []
    is_inside = False
    for line in example.split("\n"):
        is_inside = is_inside or line == ">>> async def main() -> None:"
        if line in {
            ">>> import asyncio",
            ">>> async def main() -> None:",
            ">>> asyncio.run(main())",
        }:
            continue
        if is_inside and line.startswith("...     "):
            is_first = line.startswith("...     async with AsyncAntiphon")
            line = f"{'>>>' if is_first else '...'} {line.removeprefix('...     ')}"
        line = re.sub(r"\basync (?=for |with )", "", line)
        lines.append(renamed(line.replace("await ", "").replace("anext(", "next(")))
    return "\n".join(lines)


def renamed(text: str) -> str:
    """Return code, or a text, with the names of the result."""
    return re.sub(
        r"\bAsync[A-Z]\w*",
        lambda found: RENAMED.get(found[0], found[0].removeprefix("Async")),
        text,
    )


def indented(text: str) -> str:
    """Return code one level deeper."""
    return "\n".join(f"    {line}" if line else line for line in text.split("\n"))


def of_result(node: ast.stmt) -> ast.stmt:
    """Return an import of the source as one of the result."""
    if (
        isinstance(node, ast.ImportFrom)
        and node.module
        and node.module.startswith("antiphon.library.resources.")
    ):
        names = [ast.alias(renamed(one.name)) for one in node.names]
        return ast.ImportFrom(node.module.replace(".resources.", ".sync_resources."), names, 0)
    return node


def used_names(nodes: Sequence[ast.stmt]) -> set[str]:
    """Return all names in the code."""
    return {one.id for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name)}


def assigned(nodes: Sequence[ast.stmt], used: set[str]) -> list[ast.stmt]:
    """Return the assignments of used names."""
    return [
        node
        for node in nodes
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in used
    ]


def save(node: ast.stmt, used: set[str]) -> bool:
    """Whether the result needs an import or an assignment; of an import, only the used names
    stay.
    """
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0]) in used
    if isinstance(node, ast.Import | ast.ImportFrom):
        node.names = [one for one in node.names if (one.asname or one.name) in used]
        return bool(node.names)
    return False


def main() -> None:
    """Write the files, formatted."""
    TARGET.mkdir(exist_ok=True)
    for path, code in written():
        path.write_text(code)
    for command in (["check", "--select", "I", "--fix", "--quiet"], ["format", "--quiet"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, str(TARGET)], check=True)


if __name__ == "__main__":
    main()
