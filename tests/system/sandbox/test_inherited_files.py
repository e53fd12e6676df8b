"""Attacks by open files that a machine inherits from the server, on the event loop that servers
use.
"""

import uvloop

from antiphon.sandbox.bubblewrap import Bubblewrap
from antiphon.sandbox.contract import MachineLimits

LIMITS = MachineLimits(memory=512 * 1024 * 1024)
WRITE = "open('/mnt/data/secret', 'w').write('of another tenant')"
OPEN = """
import os
for process in ('self', '1'):
    try:
        names = os.listdir(f'/proc/{process}/fd')
    except OSError:
        continue
    for name in names:
        try:
            print(os.listdir(f'/proc/{process}/fd/{name}'))
        except OSError:
            pass
"""
FILES = "[int(each) for each in __import__('os').listdir('/proc/self/fd')]"


def test_a_machine_inherits_nothing_of_another() -> None:
    """uvloop closes no file of the server in a new process, unless the file says so itself."""

    async def attack() -> tuple[str, str]:
        sandbox = Bubblewrap()
        try:
            await (await sandbox.start(LIMITS)).run_code(WRITE, 20)
            machine = await sandbox.start(LIMITS)
            return (await machine.run_code(OPEN, 20)).printed, (
                await machine.run_code(FILES, 20)
            ).value
        finally:
            await sandbox.close()

    listed, files = uvloop.run(attack())
    assert "secret" not in listed
    assert len(files.split(",")) <= 5  # three streams, the socket, and the directory that is listed
