"""State that cannot be opened is ignored."""

import pytest

from antiphon.access.keyring import Keyring
from antiphon.access.unseal import Unsealer


def test_one_request_has_one_line_in_the_log_for_all_that_cannot_be_opened(
    caplog: pytest.LogCaptureFixture,
) -> None:
    unseal = Unsealer(Keyring(), "acme", refuses=False)
    strange = Keyring()

    assert [unseal(strange.seal({"summary": text}, "acme")) for text in "abc"] == [{}, {}, {}]
    assert len(caplog.records) == 1
