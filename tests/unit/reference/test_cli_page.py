"""The page of the command line is generated from the help texts.

`python -m tests.unit.reference.test_cli_page --update` writes it.
"""
# ruff: noqa: E501 - rows of Markdown tables cannot be wrapped

import re
import shlex
import sys
from collections.abc import Iterator
from typing import Any

import typer
import typer.core
import typer.main

from antiphon.cli.main import app
from tests.support.cases import each
from tests.support.pages import REFERENCE

PAGE = REFERENCE / "cli.md"
COMMAND = "python -m tests.unit.reference.test_cli_page --update"
EXAMPLES = "\n\n\b\nExamples:\n"
COMMON = {"--store": "store", "--config": "config"}
"""Options of most commands, and the anchor of their settings or of their description."""

INTRODUCTION = """\
<!-- Generated: python -m tests.unit.reference.test_cli_page --update -->

# Command line

`antiphon` starts the server, and inspects and manages its data. `antiphon --help` lists the commands, and
`antiphon COMMAND --help` shows the options of one. `python -m antiphon` is the same command. In a checkout, `make` installs
it as `.venv/bin/antiphon`, and `make serve ARGS="…"` passes flags to `antiphon serve`.

"""

COMMON_OPTIONS = """
## Common options

Most commands accept these options, so that they use the same settings as the server:

| Option | Description |
|---|---|
| `--config FILE` | [Settings file](settings.md). Default: `antiphon.toml` in the working directory, if it exists. |
| `--store URL` | Database that stores state, such as `sqlite:///~/answers.db` or `postgresql://user@host/database`. Default: the setting [`store`](settings.md#store). |
| `--help` | Show the help of the command and exit. |

Everything else is configured with [settings](settings.md), which have no flags.

## Exit codes

| Code | Meaning |
|---|---|
| 0 | Success. |
| 1 | The command failed for a reason outside the command line: no model is reachable, a backend failed, a response does not exist, a server that is verified violates a `must`, a claim of the trust report is broken, or `antiphon doctor` found a problem. |
| 2 | You can correct the cause: a flag, a setting, or a port that is in use. |
| 130 | Interrupted by Ctrl-C. |

Every error is one line on standard error that starts with `antiphon:`. For a misspelled command, flag, setting or model, it
suggests the correct name. With `log_format = "json"`, every line of `antiphon serve` on standard error is JSON, including
errors in the settings or the flags, a port that is in use, and Python's warnings.
"""

AFTER = {
    "serve": """
**Stop the server.** On `SIGTERM`, the server rejects new requests with 503 and `retry-after`, reports on `/readyz` that it
is stopping, and returns background responses to the queue. Responses in progress have [`grace`](settings.md#grace) seconds
to finish (30 by default); after that, their streams end with a failure event. On `SIGINT` (Ctrl-C) they have no such time.
A second signal stops everything immediately. The exit code is 0.

**Run agents.** With `--agents`, the server starts a worker of [your agents](../guides/write-an-agent.md) in a process of its
own, and stops it after all responses in progress. If the worker dies, the log has the reason, and it is replaced after 1 s;
if it dies again within a minute, after 2 s, 4 s and up to 16 s. A module that cannot be imported ends the server with the
exit code 2.

**Change backends.** On `SIGHUP`, the server
[reads its backends again](../operate/route-across-backends.md#reload-the-settings-without-a-restart).
""",
    "models": """
A name such as `fast → qwen3` is an alias and its target, and `(not listed)` marks a model that the backend does not list. The
status of a backend without known models is `unreachable`, `no list of models` or `no models`. The last column is the
[profile](../guides/probe-a-model.md).
""",
    "worker": """
On `SIGHUP`, the worker [reads its backends again](../operate/route-across-backends.md#reload-the-settings-without-a-restart),
as the server does. `antiphon serve --agents` runs a worker next to the server.
""",
    "doctor": """
### Check an installation

| Area | Check |
|---|---|
| `settings` | The settings file, the environment and the flags are valid. |
| `store` | The store is reachable, readable and writable; its schema; the free space of its disk. The command does not create a missing store, and does not upgrade an older schema. |
| `clock` | The clock of this machine against that of PostgreSQL, or of the other servers of an SQLite file. |
| `backends` | Each backend lists models, its key is set, every model in the settings is listed, and no model has the name of an agent. Each backend receives one request for its list of models, which no backend charges for. |
| `port` | The port is free, or an Antiphon server listens on it. |
| `images` | The server in `images_backend` responds and accepts the key. |
| `sandbox` | With `code_sandbox`, the sandbox starts and runs code. Otherwise, whether bubblewrap is installed. |
| `versions` | Antiphon, Python, SQLite and the optional packages. |

Each area has a time limit of 15 s. A finding is `ok`, a `note`, which needs no action, or a `problem`.
""",
    "console": "\nSee [the console](../guides/use-the-console.md).\n",
    "responses": "\n`--q` accepts the [filters of `GET "
    "/v1/responses`](endpoints.md#list-responses).\n",
    "launch": "\nSee [Codex on a local model](../get-started/codex-on-a-local-model.md).\n",
    "purge": "\nSee [when the clock is "
    "wrong](../operate/data-retention.md#when-the-clock-is-wrong).\n",
    "backup": "\nSee [back up and restore](../operate/back-up-and-restore.md), also for "
    "PostgreSQL.\n",
    "files": "\nSee [files](endpoints.md#files).\n",
    "containers": "\nSee [containers](endpoints.md#containers).\n",
    "keys": "\nSee [keys and budgets](../operate/keys-and-budgets.md).\n",
    "keys usage": "\nSee [report usage and "
    "costs](../operate/keys-and-budgets.md#report-usage-and-costs).\n",
    "keys create": "\nSee [roles](../guides/use-the-console.md#roles).\n",
    "stores": "\nSee [vector stores](endpoints.md#vector-stores).\n",
    "verify": "\nSee [check conformance](../guides/check-conformance.md) and the "
    "[requirements](requirements.md).\n",
    "trust-report": "\nSee [check what a server keeps](../operate/trust-report.md).\n",
    "demo-backend": """
See [judge a gateway](../guides/check-conformance.md#check-a-gateway), and for `--weak`
[what a gateway supplies](../guides/check-conformance.md#check-what-a-gateway-adds). The names for `--refuse` are
`messages.system`, `calls.arguments`, `calls.ids`, `calls.signatures`, `calls.tools`, `tools.schema`, `tools.forced`,
`tools.format`, `sampling.both`, `sampling.value`, `reasoning.effort` and `stream.always`: what
[backends refuse](dialects.md#differences-that-antiphon-learns).
""",
}
"""Text below the generated description of a command."""

OUTPUTS = {
    "models": """\
┏━━━...
┃ model ...┃ backend ┃ dialect ┃ API ...
...
│ demo ...│ demo    │ demo    │ chat ...
...
""",
    "doctor": """\
ok       settings  The settings are valid.
...
No problems were found.
""",
    "files list": "There are no files.\n",
    "containers list": "There are no containers.\n",
    "keys budgets": "No tenant has a budget. Set one with `antiphon keys set-budget`.\n",
    "stores list": "There are no vector stores. Create one with `antiphon stores add PATH`.\n",
    "webhooks deliveries": "All webhooks were delivered.\n",
    "webhooks retry": "Deliveries to retry: 0.\n",
    "db check": "sqlite:///... is intact: ...\n",
    "migrate": "sqlite:///... is up to date.\n",
    "purge": "Would delete 0 responses, ...\n",
    "backup": "Backed up sqlite:///... to backup.db: ... MB, checked.\n",
    "keys set-budget": "The tenant team-a can spend 100.00 USD/month.\n...\n",
}
"""What an example prints; a test of the pages runs it."""

NOT_RUN = {
    "serve": "starts servers with other backends",
    "worker": "needs agents of your own",
    "models probe": "needs a model of your own",
    "models export": "needs a model of your own",
    "models forget": "needs a model of your own",
    "ask": "needs the ID of a response",
    "launch": "starts a coding agent",
    "restore": "needs a stopped server",
    "files upload": "needs a file of your own",
    "files get": "needs the ID of a file",
    "files delete": "needs the ID of a file",
    "containers kill": "needs the ID of a container",
    "keys update": "needs the ID of a key",
    "keys revoke": "needs the ID of a key",
    "keys rotate": "needs the ID of a key",
    "stores add": "needs a folder of your own",
    "stores search": "needs a vector store of your own",
    "stores reindex": "needs a vector store of your own",
    "verify": "sends some thousand requests",
    "verify matrix": "needs reports",
    "verify chart": "needs a report",
    "verify badge": "needs a report",
    "verify diff": "needs reports",
    "demo-backend": "runs until it is stopped",
    "keys create": "a server of a page with a key rejects the requests of its other blocks",
}
"""Why an example does not run in a test of the pages."""


def commands(group: typer.core.TyperGroup, before: str = "") -> dict[str, Any]:
    """Every command by its words, those of a group after the group itself."""
    found: dict[str, Any] = {}
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = found[f"{before}{name}"] = group.get_command(context, name)
        if isinstance(command, typer.core.TyperGroup):
            found |= commands(command, f"{before}{name} ")
    return found


COMMANDS = commands(typer.main.get_command(app))  # type: ignore[arg-type]


def page() -> str:
    return "".join([INTRODUCTION, *index(), COMMON_OPTIONS, *(section(name) for name in COMMANDS)])


def index() -> Iterator[str]:
    """A table of all commands."""
    yield "| Command | Purpose |\n|---|---|\n"
    for name, command in COMMANDS.items():
        first = command.help.partition("\n\n")[0]
        yield f"| [`antiphon {name}`](#antiphon-{name.replace(' ', '-')}) | {first} |\n"


def section(name: str) -> str:
    """A command: its usage, its description, its arguments and options, and its examples."""
    command = COMMANDS[name]
    prose, _, examples = command.help.partition(EXAMPLES)
    context = typer.Context(command, info_name=f"antiphon {name}")
    usage = " ".join(["antiphon", name, *command.collect_usage_pieces(context)])
    mark = "###" if " " in name else "##"
    parts = [
        f"\n{mark} antiphon {name}\n\n```text\n{usage}\n```\n\n{paragraphs(prose)}\n",
        *options(command, context),
    ]
    return "".join([*parts, example(name, examples), AFTER.get(name, "")])


def paragraphs(prose: str) -> str:
    return "\n\n".join(" ".join(one.split()) for one in prose.split("\n\n"))


def options(command: Any, context: typer.Context) -> Iterator[str]:
    """A table of arguments and options, and a line that names the common ones."""
    records = [one.get_help_record(context) for one in command.params]
    own = [
        (name, words)
        for name, words in filter(None, records)
        if name.split()[0] not in {*COMMON, "--help"}
    ]
    if own:
        yield "\n| Argument or option | Description |\n|---|---|\n"
    yield from (f"| `{name.replace('|', ' or ')}` | {described(words)} |\n" for name, words in own)
    shared = [
        f"`{name.split()[0]}`" for name, _ in filter(None, records) if name.split()[0] in COMMON
    ]
    if shared:
        plural = "s" if len(shared) > 1 else ""
        yield (
            f"\nAlso accepts the [common option{plural}](#common-options) {' and '.join(shared)}.\n"
        )


def described(words: str) -> str:
    """The help of an option, with its default as a sentence."""
    text, _, default = re.sub(r"\s+", " ", words).strip().removesuffix("]").partition(" [default: ")
    return f"{text} Default: `{default}`." if default else words


def example(name: str, examples: str) -> str:
    if not examples:
        return ""
    lines = "\n".join(line.strip() for line in examples.splitlines())
    reason = f"<!-- not run: {NOT_RUN[name]} -->\n" if name in NOT_RUN else ""
    output = (
        f"\n<!-- output -->\n```text\n{OUTPUTS[name]}```\n"
        if name in OUTPUTS and not reason
        else ""
    )
    return f"\n{reason}```sh\n{lines}\n```\n{output}"


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text() == page(), f"write it again: {COMMAND}"


def examples() -> list[str]:
    return [
        line.strip()
        for one in COMMANDS.values()
        for line in one.help.partition(EXAMPLES)[2].splitlines()
    ]


@each("line", examples())
def test_every_example_is_a_valid_command_line(line: str) -> None:
    words = shlex.split(line.partition(" > ")[0])[1:]
    name = max((one for one in COMMANDS if words[: len(one.split())] == one.split()), key=len)
    COMMANDS[name].make_context(name, words[len(name.split()) :], resilient_parsing=False)


def test_every_note_and_output_is_of_a_command_with_an_example() -> None:
    displayed = {name for name, one in COMMANDS.items() if EXAMPLES in one.help}
    assert NOT_RUN.keys() | OUTPUTS.keys() <= displayed
    assert AFTER.keys() <= COMMANDS.keys()


if __name__ == "__main__" and "--update" in sys.argv:
    PAGE.write_text(page())
