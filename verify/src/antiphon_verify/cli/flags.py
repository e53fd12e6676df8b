"""The options of a check, which the command `antiphon verify` of the server has too."""

from pathlib import Path
from typing import Annotated

import typer

BaseUrlFlag = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Base URL, ending in /v1. Default: that of the profile, OPENAI_BASE_URL, or Antiphon "
        "on this machine.",
    ),
]
ModelFlag = Annotated[
    str,
    typer.Option(
        metavar="MODEL",
        help="Model to test with. Default: the first one listed that is not an agent.",
    ),
]
ApiFlag = Annotated[
    str, typer.Option(metavar="API", help="API to check: chat, responses, messages or all.")
]
OnlyFlag = Annotated[
    list[str] | None,
    typer.Option(
        metavar="AREA",
        help="Area or requirement to check, several separated by commas. Can be repeated.",
    ),
]
SkipFlag = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ID",
        help="Area or requirement to skip, several separated by commas. Can be repeated.",
    ),
]
ProfileFlag = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Known violations of the server: a name such as ollama, or a TOML file.",
    ),
]
KeyEnvFlag = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Environment variable with the API key. Default: OPENAI_API_KEY."
    ),
]
JsonFlag = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the report to this file as JSON.")
]
HtmlFlag = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the report to this file as an HTML page.")
]
TimeoutFlag = Annotated[
    float, typer.Option(metavar="SECONDS", min=0.1, help="Time limit of each case.")
]
ParallelFlag = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Number of concurrent cases. Default: adapts to the server's speed.",
    ),
]
VerboseFlag = Annotated[
    bool, typer.Option("--verbose", help="Show the requests and replies of each failure.")
]
NameFlag = Annotated[str, typer.Option(metavar="NAME", help="Name of the server in the report.")]
AboutFlag = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE", help="Fact to add to the report, such as version=1.2. Can be repeated."
    ),
]
ReplayFlag = Annotated[
    str | None,
    typer.Option(
        metavar="ID", help="Repeat the requests of this requirement, and print the raw bytes."
    ),
]
