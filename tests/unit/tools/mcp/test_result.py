"""What a client and a model see of a tool's result, and which credentials they never see."""

import pytest

from antiphon.tools.mcp.result import secrets_of, without


@pytest.mark.parametrize("turn", [1, -1])
def test_a_secret_that_begins_with_another_leaves_nothing_of_itself(turn: int) -> None:
    named = [
        ("x-api-key", "s3cret"),
        ("authorization", "Bearer s3cret-and-more"),
        ("x-token", "before-s3cret"),
    ]
    secrets = secrets_of(dict(named[::turn]))
    assert secrets == ("s3cret-and-more", "before-s3cret", "s3cret")
    assert (
        without(secrets, "s3cret-and-more, before-s3cret, s3cret")
        == "[removed], [removed], [removed]"
    )
