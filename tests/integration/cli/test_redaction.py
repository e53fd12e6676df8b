"""No error of a start shows what is secret in a URL, wherever that URL is set."""

from pathlib import Path

import pytest

from tests.support.cli import antiphon
from tests.support.postgres import Postgres

SECRET = "s3cr3t"
URL = f"u:{SECRET}@h/v1"

FLAGS = [
    *(
        ("--store", url)
        for url in (f"mysql://{URL}", SECRET, f"sqlite://{URL}", f"sqlite:///tmp/x?key={SECRET}")
    ),
    *(
        ("--store", f"postgresql://u:{secret}@127.0.0.1:1/db")
        for secret in (SECRET, f"a/{SECRET}", f"a?{SECRET}")
    ),
    ("--store", f"postgresql://u:{SECRET}@[::1/db"),
    ("--store", f"postgresql://127.0.0.1:1/db?user=u&password={SECRET}&sslpassword={SECRET}"),
    *(("--backend", f"{scheme}{URL}") for scheme in ("", "http://", "ftp://", "http://[")),
    ("--backend", f"http://h/v1?key={SECRET}"),
]

SETTINGS = [
    f'[[backends]]\nurl = "http://h/v1"\nproxy = "http://{URL}"',
    f'[[backends]]\nurl = "http://{URL}"\nname = 7',
    f'[[mcp_servers]]\nlabel = "a"\nurl = "http://{URL}"',
    f'[[mcp_servers]]\nlabel = "http://{URL}"\nurl = "http://h"',
    *(f'web_search = "{scheme}{URL}"' for scheme in ("", "http://")),
    f'web_search = "searxng"\nweb_search_url = "http://h?key={SECRET}"',
    *(
        f'[[backends]]\nurl = "http://u:{one}@h/v1"'
        for one in (f"a/{SECRET}", f"a#{SECRET}", f"a?{SECRET}", f"a@{SECRET}")
    ),
    f'[[mcp_servers]]\nlabel = "a"\nurl = "http://u:a?{SECRET}@h"',
    f'file_storage = "s3://u:a#{SECRET}@bucket"',
    f'file_storage = "s3://bucket"\nfile_storage_endpoint = "http://u:a/{SECRET}@h"',
    f'images_model = "m"\nimages_backend = "http://u:a?{SECRET}@h"',
    f'trace_endpoint = "ftp://{URL}"',
    f'trace_endpoint = "http://u:a?{SECRET}@h"',
    f'metrics_listen = "{URL}"',
    f'allowed_origins = ["http://{URL}"]',
    f'allowed_hosts = ["{URL}"]',
    f'outgoing_networks = ["{URL}"]',
]

VARIABLES = [
    ("ANTIPHON_BACKENDS", URL),
    ("ANTIPHON_BACKENDS", f"http://u:{SECRET} x@h/v1"),
    ("OPENAI_BASE_URL", URL),
    ("ANTIPHON_MCP_SERVERS", f"http://{URL}"),
]


@pytest.mark.parametrize("flags", FLAGS, ids=range(len(FLAGS)))
async def test_in_flags(tmp_path: Path, flags: tuple[str, str]) -> None:
    done = await antiphon(tmp_path, "serve", "--port", "0", *flags)

    assert done.code == 2
    assert SECRET not in done.out + done.err


@pytest.mark.parametrize("settings", SETTINGS, ids=range(len(SETTINGS)))
async def test_in_the_file(tmp_path: Path, settings: str) -> None:
    (tmp_path / "antiphon.toml").write_text(settings)
    done = await antiphon(tmp_path, "serve", "--port", "0", "--store", "sqlite://")

    assert done.code == 2
    assert SECRET not in done.out + done.err


@pytest.mark.parametrize("variable", VARIABLES)
async def test_in_the_environment(tmp_path: Path, variable: tuple[str, str]) -> None:
    done = await antiphon(
        tmp_path, "serve", "--port", "0", "--store", "sqlite://", **dict([variable])
    )

    assert done.code == 2
    assert SECRET not in done.out + done.err


async def test_in_other_commands(tmp_path: Path) -> None:
    commands = [
        ("status", "--url", f"http://u:{SECRET}@127.0.0.1:9"),
        ("migrate", "--store", f"mysql://{URL}"),
    ]
    for command in commands:
        done = await antiphon(tmp_path, *command)
        assert done.code
        assert SECRET not in done.out + done.err


@pytest.mark.wide
async def test_in_what_the_doctor_finds(tmp_path: Path, postgres: Postgres) -> None:
    url = await postgres.database()
    store = f"{url}{'&' if '?' in url else '?'}password={SECRET}"
    for form in ([], ["--json"]):
        done = await antiphon(
            tmp_path, "doctor", *form, "--store", store, "--backend", "http://127.0.0.1:9/v1"
        )

        assert "antiphon migrate" in done.out
        assert SECRET not in done.out + done.err
