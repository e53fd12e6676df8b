"""`deploy/compose.yaml`: valid by the schema of Compose, with files, commands and settings that
exist.

No container engine runs here: what only Docker or Podman can show (that the images build and start)
is not tested.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml
from bench.ports import free_port

from antiphon.cli.main import app
from antiphon.config import PREFIX, Settings
from tests.support.pip import install, run
from tests.support.programs import find, needs
from tests.system.deploy.proxies import DEPLOY, running

FILE = DEPLOY / "compose.yaml"
COMPOSE: dict[str, Any] = yaml.safe_load(FILE.read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
NGINX = find("nginx") or ""
SERVERS = [SERVICES["antiphon-1"], SERVICES["antiphon-2"]]


@pytest.fixture(scope="module")
def tools() -> Path:
    return install(Path(__file__).parent / "tools.txt", "deploy")


def test_the_schema_of_compose_accepts_it(tools: Path) -> None:
    done = run(tools, "check-jsonschema", "--builtin-schema", "vendor.compose-spec", str(FILE))
    assert (done.returncode, done.stderr) == (0, "")


def test_the_schema_rejects_a_key_that_does_not_exist(tools: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "compose.yaml"
    wrong.write_text(FILE.read_text().replace("stop_grace_period", "stop_grace"))
    assert (
        run(
            tools, "check-jsonschema", "--builtin-schema", "vendor.compose-spec", str(wrong)
        ).returncode
        == 1
    )


def test_two_servers_share_a_database_behind_nginx() -> None:
    assert SERVERS[0] == SERVERS[1]
    assert SERVERS[0]["environment"]["ANTIPHON_STORE"].startswith("postgresql://antiphon@postgres/")
    assert set(SERVICES["proxy"]["depends_on"]) == {"antiphon-1", "antiphon-2"}
    assert set(SERVICES) == {"postgres", "migrate", "antiphon-1", "antiphon-2", "proxy"}


def test_every_file_that_it_names_exists() -> None:
    build = SERVERS[0]["build"]
    context = DEPLOY / build["context"]
    mounts = [volume.split(":")[0] for volume in SERVICES["proxy"]["volumes"]]

    assert (context / build["dockerfile"]).is_file()
    assert (context / "pyproject.toml").is_file()
    assert all((DEPLOY / name).is_file() for name in mounts)


def test_every_setting_and_every_command_exists() -> None:
    commands = typer.main.get_command(app).list_commands(None)  # type: ignore[attr-defined]
    for service in (*SERVERS, SERVICES["migrate"]):
        named = {
            name.removeprefix(PREFIX).lower()
            for name in service["environment"]
            if name.startswith(PREFIX)
        }
        assert named <= set(Settings.__struct_fields__)
        assert service.get("command", ["antiphon", "serve"])[1] in commands
    assert "antiphon keys create" in FILE.read_text()
    assert "keys" in commands


def test_the_servers_have_time_to_stop_and_no_rights() -> None:
    for service in SERVERS:
        assert int(service["stop_grace_period"].removesuffix("s")) > Settings().grace + 5
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert SERVICES["proxy"]["ports"] == ["127.0.0.1:8080:8080"]
    assert all("ports" not in service for service in SERVERS)


def test_no_secret_is_in_the_file() -> None:
    assert set(re.findall(r"PASSWORD: (.*)", FILE.read_text())) == {
        "${POSTGRES_PASSWORD:?Set POSTGRES_PASSWORD to the database's password}"
    }


@needs(NGINX, "nginx")
async def test_nginx_accepts_the_configuration_of_the_proxy(tmp_path: Path) -> None:
    port = free_port()
    text = (DEPLOY / "nginx/compose.conf").read_text()
    text = text.replace("listen 8080;", f"listen 127.0.0.1:{port};")
    for number in (1, 2):
        assert f"server antiphon-{number}:8321;" in text
        text = text.replace(f"antiphon-{number}:8321", f"127.0.0.{number}:9")
    (tmp_path / "default.conf").write_text(text)
    (tmp_path / "antiphon-proxy.conf").write_text(
        (DEPLOY / "nginx/antiphon-proxy.conf").read_text()
    )
    paths = "".join(
        f"{name}_temp_path {tmp_path}/{name};" for name in ("proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {tmp_path}/nginx.pid; error_log stderr warn; events "
        f"{{}}\n"
        f"http {{ access_log off; client_body_temp_path {tmp_path}/body; {paths} include "
        f"{tmp_path}/default.conf; }}"
    )
    async with running(
        port, NGINX, "-e", "stderr", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")
    ):
        pass
