"""`deploy/Containerfile.code`, built and run: code runs only with the options that the
documentation names.
"""

from pathlib import Path

import pytest

from tests.system.image.running import Box, plain, read_only, serving
from tests.system.image.test_server import call, created_key

NAMESPACES = Path("/proc/sys/user/max_user_namespaces")


def request(code: str) -> dict[str, object]:
    return {
        "model": "demo",
        "input": f"Run: {code}",
        "include": ["code_interpreter_call.outputs"],
        "tools": [{"type": "code_interpreter", "container": {"type": "auto"}}],
    }


@pytest.mark.skipif(
    NAMESPACES.exists() and int(NAMESPACES.read_text()) == 0,
    reason="the kernel has no user namespaces",
)
async def test_code_runs_with_its_packages_in_a_container_without_a_seccomp_filter(
    code_box: Box,
) -> None:
    key = created_key(read_only, code_box)
    code = (
        "import matplotlib, numpy, openpyxl, pandas, PIL; print(pandas.DataFrame({'a': "
        "[6]}).a.sum() * numpy.int64(7))"
    )
    with serving(read_only, code_box) as server:
        reply = await call(server, key, "POST", "/v1/responses", request(code))
        (ran,) = [item for item in reply["output"] if item["type"] == "code_interpreter_call"]

        assert ran["outputs"] == [{"type": "logs", "logs": "42\n"}]
        assert "code in bubblewrap" in server.log.read_text()
        assert server.stop() == 0


async def test_an_engine_seccomp_filter_disables_code_with_the_reason(code_box: Box) -> None:
    key = created_key(plain, code_box)
    with serving(plain, code_box) as server:
        reply = await call(server, key, "POST", "/v1/responses", request("print(1)"))
        log = server.log.read_text()

    assert [item["type"] for item in reply["output"]] == ["message"]
    assert "seccomp=unconfined" in log
    assert "code in bubblewrap" not in log
