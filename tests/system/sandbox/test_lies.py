"""Attacks on the server's trust: forged replies, and an environment that waits for the next call
(10, 12).
"""

import json

import pytest

from antiphon.sandbox.contract import Machine
from tests.support.sandboxes import content, machine_of, parts, run, value

FORGE = """
import os, stat
socket = next(int(n) for n in os.listdir("/proc/self/fd") if stat.S_ISSOCK(os.stat(int(n)).st_mode))
reply = REPLY
while reply:
    reply = reply[os.write(socket, reply):]
"""


def forge(reply: str) -> str:
    return FORGE.replace("REPLY", reply)


FORGED = {
    "no line": r"b'x' * 1000 + b'\n'",
    "a line without end": "b'x' * 50_000_000",
    "two lines": r"b'{}\n{}\n'",
    "no object": r"b'[]\n'",
    "no nonce": r"b'{}\n'",
    "another nonce": r"""b'{"nonce": "0", "value": "forged", "figures": []}\n'""",
    "another type": r"""b'{"nonce": 1, "value": {}, "figures": "x"}\n'""",
    "deep": r"b'[' * 10_000_000 + b'\n'",
    "deep in a key": r"""b'{"x": ' * 1_000_000 + b'\n'""",
    "many": r"""b'{"nonce": "0", "x": [' + b'0,' * 9_000_000 + b'0]}\n'""",
    "no text": r"""b'{"nonce": "\xff\xfe"}\n'""",
    "half a pair": r"""b'{"nonce": "0", "value": "\\ud800"}\n'""",
}
"""Replies as Python expressions."""


@pytest.mark.parametrize("name", FORGED)
async def test_a_forged_reply_loses_the_machine_alone(machine: Machine, name: str) -> None:
    result = await run(machine, forge(f"memoryview({FORGED[name]})"))
    assert (result.ending, result.value, machine.is_alive) == ("lost", "", False)


async def test_a_reply_that_comes_before_its_call_loses_the_machine(machine: Machine) -> None:
    later = (
        forge("b''")
        + """
import threading, time
def forge():
    time.sleep(0.2)
    os.write(socket, b'{"nonce": "guessed", "value": "forged"}\\n')
threading.Thread(target=forge).start()
"""
    )
    assert (await run(machine, later)).ending == "completed"
    result = await run(machine, "import time; time.sleep(1); 'mine'")
    assert (result.ending, result.value) == ("lost", "")


async def test_a_reply_with_the_nonce_of_code_can_contain_only_output_of_code(
    machine: Machine,
) -> None:
    own = (
        forge("b''")
        + """
import json, sys
frame = sys._getframe()
while "call" not in frame.f_locals:
    frame = frame.f_back
nonce = frame.f_locals["call"]["nonce"]
figures = ["bm8gaW1hZ2U=", "iVBORw0KGgo="]
line = json.dumps({"nonce": nonce, "value": "x" * 100_000, "figures": figures, "ending": "completed", "exit": 1})
os.write(socket, line.encode() + b"\\n")
os.kill(os.getpid(), 19)
"""  # noqa: E501 - the lines of a text
    )
    result = await run(machine, own)
    assert result.figures == [b"\x89PNG\r\n\x1a\n"]
    assert len(result.value) <= 20_000


POISON = """
import builtins, os, sys, atexit, signal, warnings
os.environ.update(LD_PRELOAD="/mnt/data/evil.so", PYTHONPATH="/mnt/data", PATH="/mnt/data", PYTHONHOME="/mnt/data")
for name in ("json", "sitecustomize", "usercustomize", "ast", "site", "encodings"):
    open(f"{name}.py", "w").write("print('poisoned')\\nraise SystemExit(3)")
os.mkdir("numpy")
builtins.print = builtins.open = builtins.repr = None
sys.stdout = sys.stderr = None
sys.path.insert(0, "/mnt/data")
sys.settrace(lambda *_: None)
__name__ = "elsewhere"
atexit.register(lambda: os._exit(9))
signal.signal(signal.SIGPIPE, lambda *_: None)
"""  # noqa: E501 - the lines of a text


async def test_poison_stays_in_its_machine(machine: Machine) -> None:
    await run(machine, POISON)
    result = await run(machine, "1 + 1")
    assert result.ending in {"completed", "lost"}
    files = {file.name: await content(machine, file.name) for file in await machine.files()}
    assert "json.py" in files
    async with machine_of() as other:
        for name, text in files.items():
            await other.put(name, parts(text))
        assert await value(other, "import json, ast, encodings; json.dumps([1])") == repr(
            json.dumps([1])
        )
        result = await run(other, "print('clean')")
        assert (result.printed, result.ending) == ("clean\n", "completed")
        command = await other.run_command("echo clean", 20, 100)
        assert (command.stdout, command.stderr) == ("clean\n", "")


@pytest.mark.parametrize(
    "code",
    [
        "import sys; sys.stdout.close()",
        "import os; os.close(1); os.close(2)",
        "import sys; sys.stdout = object()",
        "class Liar:\n    def __repr__(self): raise SystemExit(1)\nLiar()",
        "class Liar(Exception):\n    def __str__(self): raise KeyboardInterrupt\nraise Liar",
        "import sys; sys.setrecursionlimit(10**6)\ndef f(): f()\nf()",
        "def f(): f()\nf()",
        "'\\ud800'",
        "print('\\ud800')",
        "exec('(' * 10000)",
        "import signal, time; signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(1)",
    ],
)
async def test_whatever_code_does_there_is_a_result(machine: Machine, code: str) -> None:
    result = await run(machine, code)
    assert result.ending in {
        "completed",
        "lost",
        "memory",
    }  # a recursion can take all memory before it fails
    if machine.is_alive:
        assert await value(machine, "1 + 1") == "2"
