"""Run the blocks of one page in order: `python -m tests.support.doc_session PAGE FOLDER`, in a
network of its own.

The page has one folder, with the examples and the deployment files of the repository, and one home.
The variables that a block exports and its working folder are kept for the next block. A server with
the model `demo` runs on the usual port from the first block that needs one; a block with `antiphon
serve` replaces it.
"""

import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tomllib
from fcntl import ioctl
from pathlib import Path

from tests.support.doc_blocks import ROOT, Block, blocks, matches

PATIENCE = 120
"""Seconds that a block has; a busy machine may need some of them."""

SERVES = re.compile(
    r"^(?:[A-Z_]+=\S*\s+|env (?:-u \w+ |\w+=\S+ )*)*(?:\S*/)?antiphon (serve|demo-backend)\b"
)
USUAL_PORTS = {"serve": 8321, "demo-backend": 8322}
NEEDS_A_SERVER = re.compile(
    r"8321|OPENAI_BASE_URL|antiphon (status|console|verify|containers)|\bpython "
)
PIP = re.compile(r"^(?:\S*/)?pip install (.+)$")
CLONE = re.compile(r"^(git clone\b|cd antiphon$)")
OTHER_FILE = re.compile(r"^# \S*[/.]\S+$")

PRELUDE = r"""
set -eo pipefail
__start() { # __start PORT: run the command of standard input there; it replaces what this page started on the port
    local port=$1 log=".server-$1.log" pid
    if [[ -f .server-$port.pid ]]; then
        kill -INT -- "-$(cat ".server-$port.pid")" 2>/dev/null || true
        for _ in $(seq 300); do __listens "$port" || break; sleep 0.1; done
    fi
    setsid bash -c "exec $(cat)" >"$log" 2>&1 </dev/null &
    pid=$!
    echo "$pid" >".server-$port.pid"
    for _ in $(seq 300); do
        __listens "$port" && break
        kill -0 "$pid" 2>/dev/null || { cat "$log" >&2; return 1; }
        sleep 0.1
    done
    __listens "$port" || { cat "$log" >&2; return 1; }
    cat "$log"
}
__work() { # __work: run the worker of standard input until the page ends; it is ready
    setsid bash -c "exec $(cat)" >.worker.log 2>&1 </dev/null &
    echo "$!" >.server-worker.pid
    for _ in $(seq 300); do
        grep -q "runs the agents" .worker.log && return
        kill -0 "$(cat .server-worker.pid)" 2>/dev/null || break
        sleep 0.1
    done
    cat .worker.log >&2
    return 1
}
__listens() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
[[ -f $DOC_STATE ]] && source "$DOC_STATE"
cd "$(cat "$DOC_CWD")"
trap 'code=$?; export -p >"$DOC_STATE"; pwd >"$DOC_CWD"; exit $code' EXIT
"""  # noqa: E501 - the lines of a text


class WrongBlockError(Exception):
    """A block that does not do what its page says."""


class Session:
    """One page: its folder and what its blocks have left there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "antiphon"
        self._output = ""
        self._ran = False
        for name in ("examples", "deploy"):
            shutil.copytree(
                ROOT / name,
                self._folder / name,
                ignore=shutil.ignore_patterns("__pycache__", "node_modules"),
            )
        (self._folder / ".venv").symlink_to(Path(sys.prefix))
        home = folder / "home"
        home.mkdir()
        (folder / "cwd").write_text(str(self._folder))
        stored = {name: os.environ[name] for name in ("LANG", "PYTHONPATH") if name in os.environ}
        self._environment = {
            **stored,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "COLUMNS": "160",
            "PYTHONUNBUFFERED": "1",
            "DOC_STATE": str(folder / "state"),
            "DOC_CWD": str(folder / "cwd"),
        }

    def run(self, block: Block) -> None:
        """Run or read a block. Raises `WrongBlockError`."""
        if "not run" in block.marks:
            return
        if test := block.marks.get("checked by"):
            if not (ROOT / test.partition("::")[0]).exists():
                raise WrongBlockError(f"there is no test {test}")
            return
        if name := block.marks.get("file"):
            file = self._folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        if "output" in block.marks:
            self._compare(block.text)
        elif block.language in ("sh", "bash", "console", "run"):
            self._shell(block)
        elif read := READERS.get(block.language):
            read(block.text)

    def _compare(self, expected: str) -> None:
        if not self._ran:
            raise WrongBlockError("no block before it has output")
        if not matches(expected, self._output):
            raise WrongBlockError(f"the output is\n{self._output}\ninstead of")

    def _shell(self, block: Block) -> None:
        script, starts = prepared(block.text)
        if not script.strip():
            return
        port = USUAL_PORTS["serve"]
        if (
            block.language != "run"
            and port not in starts
            and NEEDS_A_SERVER.search(script)
            and not listens(port)
        ):
            self._bash(f"__start {port} <<'__END__'\nantiphon serve\n__END__\n")
        done = self._bash(script)
        self._output = done.stdout
        self._ran = True
        if done.returncode != int(block.marks.get("exit", 0)):
            raise WrongBlockError(f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}")

    def _bash(self, script: str) -> "subprocess.CompletedProcess[str]":
        try:
            return subprocess.run(
                ["bash", "-c", PRELUDE + script],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise WrongBlockError(
                f"it has not ended after {PATIENCE} s\n{error.stdout}\n{error.stderr}"
            ) from error


def prepared(text: str) -> tuple[str, set[int]]:
    """The script of a block, and the ports of the servers that it starts. Raises `WrongBlockError`.

    What installs programs is not run: verbs of `make` and extras must exist, and `make serve` is
    `antiphon serve`.
    """
    lines = []
    ports = set()
    for line in re.sub(r"\\\n\s*", " ", text).splitlines(keepends=True):
        command = re.sub(r"\s+#.*$", "", line.strip())
        if found := re.match(r'((?:[A-Z_]+=\S+ )*)make serve(?: ARGS="(.*)")?$', command):
            command = f"{found[1]}antiphon serve {found[2] or ''}"
        if command.startswith("antiphon worker "):
            lines.append(f"__work <<'__END__'\n{command}\n__END__\n")
        elif found := SERVES.match(command):
            flag = re.search(r"--port[ =](\d+)", command)
            port = int(flag[1]) if flag else USUAL_PORTS[found[1]]
            ports.add(port)
            lines.append(f"__start {port} <<'__END__'\n{exec_form(command)}\n__END__\n")
        elif not is_only_checked(command):
            lines.append(line)
    return "".join(lines), ports


def exec_form(command: str) -> str:
    """The command as `exec` runs it: variables before it go through `env`."""
    command = command.removesuffix("&").strip()
    return f"env {command}" if re.match(r"[A-Z_]+=", command) else command


def is_only_checked(command: str) -> bool:
    """Whether a command installs something, so that it is checked instead of run.

    Raises `WrongBlockError`.
    """
    if command.startswith("make "):
        verbs = set(command.split()[1:2])
        unknown = verbs - set(
            re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        )
        if unknown:
            raise WrongBlockError(f"the Makefile has no {unknown}")
        return True
    if found := PIP.match(command):
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
            "optional-dependencies"
        ]
        for wanted in re.findall(r"(?:antiphon|\.)\[([\w,-]+)\]", found[1]):
            if unknown := set(wanted.split(",")) - set(extras):
                raise WrongBlockError(f"there are no extras {unknown}")
        return True
    return CLONE.match(command) is not None


def listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def read_toml(text: str) -> None:
    """A file of settings must load, unless its first line names another file."""
    tomllib.loads(text)
    if OTHER_FILE.match(text.split("\n", 1)[0]) and not text.startswith("# antiphon.toml"):
        return
    from antiphon import load_settings  # noqa: PLC0415 - many pages have no such block, and this takes most of the start

    file = Path(os.environ["DOC_SCRATCH"]) / "settings.toml"
    file.write_text(text)
    load_settings({}, {}, file=file)


def read_json(text: str) -> None:
    """JSON must parse, and a request must be one that the API accepts."""
    value = json.loads(text)
    if isinstance(value, dict) and "input" in value and "model" in value and "object" not in value:
        from antiphon.translation import decode_request  # noqa: PLC0415 - as above

        decode_request(text.encode())


def read_yaml(text: str) -> None:
    """Every document must parse."""
    import yaml  # noqa: PLC0415 - as above

    list(yaml.safe_load_all(text))


READERS = {"toml": read_toml, "json": read_json, "yaml": read_yaml}


def raise_loopback() -> None:
    """Switch on the loopback interface of a new network namespace, as `ip link set lo up` does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        ioctl(
            control, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40)
        )  # SIOCSIFFLAGS: IFF_UP, IFF_RUNNING


def main(page: Path, folder: Path) -> int:
    """Run a page, print each block that is wrong, and return 1 if one is."""
    raise_loopback()
    os.environ["DOC_SCRATCH"] = str(folder)
    session = Session(folder)
    wrong = 0
    for block in blocks(page.read_text()):
        try:
            session.run(block)
        except Exception as error:
            wrong += 1
            print(
                f"{os.path.relpath(page, ROOT)}:{block.line}: {block.language}: "
                f"{error}\n{block.text}",
                flush=True,
            )
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
