"""Installed packages that cannot be loaded, in a folder for `PYTHONPATH` or `sys.path`."""

from collections.abc import Mapping
from pathlib import Path

BREAKS: Mapping[str, tuple[str, str]] = {
    "a name that is gone": (
        "from {name}.frames import OP_CONT",
        "cannot import name 'OP_CONT' from '{name}.frames'",
    ),
    "an attribute that is gone": (
        "from {name} import frames\nframes.OP_CONT",
        "AttributeError: module '{name}.frames'",
    ),
    "a shared library that is gone": (
        "import ctypes\nctypes.CDLL('libnowhere.so')",
        "OSError: libnowhere.so",
    ),
    "a package that it needs": (
        "import package_that_is_nowhere",
        "No module named 'package_that_is_nowhere'",
    ),
    "its own mistake": ("raise RuntimeError('no GPU')", "RuntimeError: no GPU"),
    "the syntax of a newer Python": ("def f(:", "SyntaxError: invalid syntax"),
}
"""How a package breaks -> its first module, and what the error then contains."""


def write_package(folder: Path, name: str, source: str, version: str = "99.1") -> None:
    """Install a package of one module, with an empty module `frames`, under its name and
    version.
    """
    for path, text in {
        f"{name}/__init__.py": source,
        f"{name}/frames.py": "",
        f"{name}-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: "
        f"{version}\n",
        f"{name}-{version}.dist-info/top_level.txt": f"{name}\n",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def write_broken(folder: Path, name: str, how: str = "a name that is gone") -> str:
    """Install a package that breaks in this way; return what its error contains."""
    source, reason = BREAKS[how]
    write_package(folder, name, source.format(name=name))
    return reason.format(name=name)
