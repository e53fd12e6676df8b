"""The resources without `await` are what the script writes from the coroutines."""

import ast
import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[3]
SPEC = importlib.util.spec_from_file_location("sync_client", ROOT / "scripts" / "sync_client.py")
assert SPEC is not None and SPEC.loader is not None
sync_client = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(sync_client)


def meaning(code: str) -> tuple[set[tuple[str | None, str]], list[str]]:
    """What the code imports, in any order, and all else that it says, however it is formatted."""
    nodes = ast.parse(code).body
    imports = {
        (node.module, one.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for one in node.names
    }
    return imports, [ast.dump(node) for node in nodes if not isinstance(node, ast.ImportFrom)]


def test_the_files_are_those_that_the_script_writes() -> None:
    """After a change of a coroutine: `python scripts/sync_client.py`."""
    stale = [
        path.name
        for path, code in sync_client.written()
        if meaning(path.read_text()) != meaning(code)
    ]
    assert stale == []


def test_no_file_has_lost_its_source() -> None:
    assert {path.name for path in sync_client.TARGET.glob("*.py")} == {
        path.name for path, _ in sync_client.written()
    }


EXAMPLE = '''
class AsyncThings:
    """Things."""

    @spelled_out
    async def take(self, thing_id: str, *, size: int, **options: Unpack[CallOptions]) -> Thing:
        """Take one.

        >>> import asyncio
        >>> from antiphon import AsyncAntiphon
        >>> async def main() -> None:
        ...     async with AsyncAntiphon() as client:
        ...         thing = await client.things.take("t", size=1)
        ...         print(thing)
        >>> asyncio.run(main())
        1
        """
        return await self._calls.take(thing_id)
'''

WRITTEN = '''
class Things:
    """Things."""

    @spelled_out
    def take(self, thing_id: str, *, size: int, **options: Unpack[CallOptions]) -> Thing:
        """Take one.

        >>> from antiphon import Antiphon
        >>> with Antiphon() as client:
        ...     thing = client.things.take("t", size=1)
        ...     print(thing)
        1
        """
        return self._owner.run(self._resource.take(thing_id, size=size, **options))
'''


def test_a_method_has_the_signature_and_the_docstring_of_its_coroutine() -> None:
    (node,) = ast.parse(EXAMPLE).body
    created = ast.parse(sync_client.resource(node)).body[0]
    wanted = ast.parse(WRITTEN).body[0]
    assert isinstance(created, ast.ClassDef) and isinstance(wanted, ast.ClassDef)
    assert ast.unparse(created) == ast.unparse(wanted)
