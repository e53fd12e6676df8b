"""An installed package that cannot be loaded: a server and `antiphon doctor` name it, its version
and the remedy.
"""

import json
import signal
from pathlib import Path

import pytest

from antiphon.cli.main import NEEDED, VERIFY
from tests.support.command import antiphon, serving
from tests.support.packages import BREAKS, write_broken
from tests.support.raw import error_of, state, status_of

FLAGS = ("--port", "0", "--store", "sqlite://", "--backend", "http://127.0.0.1:9/v1")

UPGRADE = (
    b"GET /v1/responses HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: "
    b"websocket\r\n"
    b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n"
)


async def test_without_websockets_a_server_answers_requests_and_rejects_upgrades_with_a_reason(
    tmp_path: Path,
) -> None:
    reason = write_broken(tmp_path / "packages", "websockets")
    async with serving(tmp_path, *FLAGS, PYTHONPATH=str(tmp_path / "packages")) as server:
        reported = await state(
            server.url, UPGRADE.replace(b"connection: upgrade", b"connection: upgrade, close")
        )
        plain = await state(
            server.url, b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
        )
        done = await server.stop(signal.SIGTERM)
    assert (status_of(reported), error_of(reported)["code"]) == (426, "upgrade_not_supported")
    assert status_of(plain) == 200
    assert f"websockets 99.1 cannot be loaded: {reason}" in done.err


async def test_a_server_without_uvloop_that_works_runs_on_asyncio(tmp_path: Path) -> None:
    reason = write_broken(tmp_path / "packages", "uvloop", "a shared library that is gone")
    async with serving(tmp_path, *FLAGS, PYTHONPATH=str(tmp_path / "packages")) as server:
        done = await server.stop(signal.SIGTERM)
    assert (done.code, done.err.count("uvloop 99.1 cannot be loaded")) == (0, 1)
    assert reason in done.err


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("package", "setting"),
    [
        ("asyncpg", 'store = "postgresql://a@127.0.0.1:9/b"'),
        (
            "aiohttp",
            'code_sandbox = "e2b"\ncode_e2b_key_env = ""\ncode_e2b_url = "http://127.0.0.1:9"',
        ),
        ("cryptography", f'seal_keys = ["{"A" * 43}="]'),
        ("mcp", '[[mcp_servers]]\nlabel = "a"\nurl = "https://example.com/mcp"'),
        ("obstore", 'file_storage = "s3://bucket"'),
        ("opentelemetry", 'trace_endpoint = "http://127.0.0.1:9"'),
        ("html_to_markdown", 'web_search = "http://127.0.0.1:9"'),
    ],
)
async def test_a_setting_that_needs_a_broken_package_prevents_the_start(
    tmp_path: Path, package: str, setting: str
) -> None:
    reason = write_broken(tmp_path / "packages", package)
    (tmp_path / "antiphon.toml").write_text(f"port = 0\n{setting}\n")
    done = await antiphon(tmp_path, "serve", PYTHONPATH=str(tmp_path / "packages"))
    assert done.code == 2
    assert (
        f"needs a package that does not work. {package} 99.1 cannot be loaded: {reason}" in done.err
    )
    assert len(done.err.splitlines()) == 1


@pytest.mark.rotating
@pytest.mark.parametrize("command", [*NEEDED, VERIFY])
async def test_a_command_that_needs_a_broken_package_names_it_and_the_others_work(
    tmp_path: Path, command: str
) -> None:
    reason = write_broken(tmp_path / "packages", "aiohttp")
    done = await antiphon(tmp_path, command, PYTHONPATH=str(tmp_path / "packages"))
    listed = await antiphon(tmp_path, "--help", PYTHONPATH=str(tmp_path / "packages"))
    assert done.code == 2
    assert f"`antiphon {command}`" in done.err
    assert f"aiohttp 99.1 cannot be loaded: {reason}" in done.err
    assert len(done.err.splitlines()) == 1
    assert (listed.code, listed.err) == (0, "")


@pytest.mark.rotating
@pytest.mark.parametrize("how", BREAKS)
async def test_a_broken_conformance_checker_is_reinstalled_from_the_clone_and_not_from_an_index(
    tmp_path: Path, how: str
) -> None:
    reason = write_broken(tmp_path / "packages", "antiphon_verify", how)
    done = await antiphon(tmp_path, VERIFY, PYTHONPATH=str(tmp_path / "packages"))
    assert done.code == 2
    assert f"cannot be loaded: {reason}" in done.err
    assert done.err.rstrip().endswith("pip install --force-reinstall ./verify")
    assert len(done.err.splitlines()) == 1


@pytest.mark.rotating
@pytest.mark.parametrize("how", BREAKS)
async def test_the_doctor_finds_broken_packages_however_they_break(
    tmp_path: Path, how: str
) -> None:
    packages = (
        "websockets",
        "cryptography",
        "pypdfium2",
        "llguidance",
        "json_repair",
        "tiktoken",
        "mcp",
        "asyncpg",
    )
    reasons = {name: write_broken(tmp_path / "packages", name, how) for name in packages}
    done = await antiphon(
        tmp_path, "doctor", "--json", *FLAGS[2:], PYTHONPATH=str(tmp_path / "packages")
    )
    found = [
        one
        for one in json.loads(done.out)
        if one["area"] == "packages" and one["state"] == "problem"
    ]
    assert done.code == 1
    for name, reason in reasons.items():
        assert [one for one in found if f"{name} 99.1 cannot be loaded: {reason}" in one["text"]], (
            name
        )
