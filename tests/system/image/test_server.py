"""`deploy/Containerfile`, built and run: what an engine does with it, and what a user does with the
server in it.

buildah runs it with its isolation `chroot`: on the network of this machine, and without control
groups.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from bench.ports import free_port

from antiphon.config import Settings
from tests.system.deploy.proxies import DEPLOY
from tests.system.image import engine
from tests.system.image.conftest import FIGURES
from tests.system.image.running import USER, Box, Runner, Server, plain, read_only, run, serving

EXAMPLE = DEPLOY.parent / "examples/sdk.py"
MOST_MEGABYTES = 240
"""That the image adds to its base."""

RUNNERS = pytest.mark.parametrize("runner", [plain, read_only])


def created_key(runner: Runner, box: Box) -> str:
    done = run(runner, box, "antiphon", "keys", "create")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


async def call(
    server: Server, key: str, method: str, path: str, body: dict[str, Any] | None = None
) -> dict[str, Any]:
    headers = {"authorization": f"Bearer {key}"}
    async with (
        aiohttp.ClientSession(server.url, headers=headers) as session,
        session.request(method, path, json=body) as reply,
    ):
        assert reply.status == 200, await reply.text()
        found: dict[str, Any] = await reply.json()
        return found


def ten_lines(server: Server, key: str, folder: Path) -> str:
    """The program of the README, with the address and the key of this server; the last line that it
    prints.
    """
    program = (
        EXAMPLE.read_text()
        .replace("http://127.0.0.1:8321", server.url)
        .replace('"none"', repr(key))
    )
    (folder / "sdk.py").write_text(program)
    done = subprocess.run(
        [sys.executable, folder / "sdk.py"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_the_image_names_an_ordinary_user_a_volume_and_one_port(image: str) -> None:
    found = engine.configuration(image)

    assert (found["User"], found["Cmd"], found["StopSignal"]) == (
        str(USER),
        ["antiphon", "serve"],
        "SIGTERM",
    )
    assert (set(found["Volumes"]), set(found["ExposedPorts"])) == (
        {"/data"},
        {f"{Settings().port}/tcp"},
    )


def test_the_image_is_small_and_has_nothing_that_only_the_build_needs(
    base: str, image: str, box: Box
) -> None:
    assert engine.size(image) - engine.size(base) < MOST_MEGABYTES
    programs = (
        "for name in pip node npm cc; do command -v $name; done; ls -d /source "
        "/opt/antiphon/bin/pip*"
    )
    assert run(plain, box, "sh", "-c", programs).stdout == ""


def test_the_image_has_the_conformance_checker(box: Box) -> None:
    done = run(plain, box, "antiphon", "verify", "list", "responses:models")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("responses:models:")


def test_every_module_that_the_server_imports_has_bytecode(box: Box) -> None:
    program = """if True:
        import importlib.util, pathlib, sys
        import antiphon.cli.main, antiphon.cli.serve
        names = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
        sources = sorted(name for name in names if name.endswith(".py"))
        cached = importlib.util.cache_from_source
        print(len(sources), [name for name in sources if not pathlib.Path(cached(name)).exists()])
    """
    done = run(plain, box, "python", "-c", program, PYTHONDONTWRITEBYTECODE="1")
    number, _, without = done.stdout.strip().partition(" ")

    assert without == "[]", done.stderr
    assert int(number) > 500


def test_a_server_without_a_key_refuses_to_start(box: Box) -> None:
    done = run(plain, box, "antiphon", "serve", ANTIPHON_PORT=str(free_port()))

    assert done.returncode != 0
    assert "antiphon keys create" in done.stderr


@RUNNERS
def test_the_ten_lines_run_and_sigterm_ends_the_server_cleanly(
    runner: Runner, box: Box, tmp_path: Path
) -> None:
    key = created_key(runner, box)
    with serving(runner, box) as server:
        FIGURES.append(
            f"antiphon: the server answers {server.started:.2f} s after the command "
            f"({runner.__name__})"
        )

        assert ten_lines(server, key, tmp_path) == "Your name is Ada."
        assert server.stop() == 0, server.log.read_text()


async def test_a_new_container_with_the_same_volume_has_the_stored_responses(
    box: Box, image: str
) -> None:
    key = created_key(plain, box)
    with serving(plain, box) as server:
        stored = await call(
            server, key, "POST", "/v1/responses", {"model": "demo", "input": "My name is Ada."}
        )
        assert server.stop() == 0

    with (
        engine.container(image) as other,
        serving(read_only, Box(other, image, box.volume)) as server,
    ):
        assert (await call(server, key, "GET", f"/v1/responses/{stored['id']}"))[
            "output"
        ] == stored["output"]


async def test_the_console_is_in_the_image(box: Box) -> None:
    created_key(plain, box)
    with serving(plain, box) as server:
        async with aiohttp.ClientSession(server.url) as session, session.get("/console/") as reply:
            assert (reply.status, reply.content_type) == (200, "text/html")
            assert 'type="module"' in await reply.text()


@RUNNERS
def test_the_health_check_passes_while_the_server_runs(runner: Runner, box: Box) -> None:
    created_key(runner, box)
    kind, *check = engine.configuration(box.image)["Healthcheck"]["Test"]
    assert kind == "CMD"
    # Not by `buildah run`, of which two in one container disturb each other's mounts.
    with serving(runner, box) as server:
        assert run(read_only, box, *check, ANTIPHON_PORT=str(server.port)).returncode == 0
        assert server.stop() == 0
    assert run(read_only, box, *check, ANTIPHON_PORT=str(server.port)).returncode == 1


def test_a_read_only_root_is_one(box: Box) -> None:
    done = run(
        read_only,
        box,
        "sh",
        "-c",
        "touch /data/new /tmp/new && id -u && ! touch /new /opt/antiphon/new /var/tmp/new",
    )

    assert (done.returncode, done.stdout.strip()) == (0, str(USER))
    assert done.stderr.count("Read-only file system") == 3


def test_a_settings_file_names_the_store_as_on_kubernetes(box: Box) -> None:
    """The image sets no variable for `store`, because variables take precedence over the file."""
    manifest = yaml.safe_load((DEPLOY / "kubernetes/deployment.yaml").read_text())
    (server,) = manifest["spec"]["template"]["spec"]["containers"]
    settings = (DEPLOY / "kubernetes/antiphon.toml").read_text()
    for old, new in {
        "postgresql://antiphon@postgres/antiphon": "sqlite:///data/named.db",
        "0.0.0.0:9321": f"127.0.0.1:{free_port()}",
        "http://vllm:8000/v1": f"http://127.0.0.1:{free_port()}/v1",
    }.items():
        assert old in settings
        settings = settings.replace(old, new)
    (box.volume / "antiphon.toml").write_text(settings)
    command = [one.replace("/etc/antiphon/", "/data/") for one in server["args"]]

    assert run(read_only, box, "antiphon", "keys", "create", *command[2:]).returncode == 0
    with serving(read_only, box, *command) as running:
        assert running.stop() == 0
    assert "store sqlite:///data/named.db" in running.log.read_text()
    assert (box.volume / "named.db").exists()
    assert not (box.volume / ".local").exists()
