"""The names of `antiphon.testing`: those for event streams are of the conformance checker, which
need not be there.
"""

import sys

import pytest

import antiphon.testing
import antiphon_verify

OF_EVENTS = antiphon_verify.__all__


@pytest.mark.parametrize("name", OF_EVENTS)
def test_a_name_for_event_streams_is_the_one_of_the_conformance_checker(name: str) -> None:
    assert getattr(antiphon.testing, name) is getattr(antiphon_verify, name)


def test_every_public_name_can_be_imported() -> None:
    assert {*OF_EVENTS} <= {*antiphon.testing.__all__} == {*dir(antiphon.testing)}
    assert all(getattr(antiphon.testing, name) is not None for name in antiphon.testing.__all__)


@pytest.mark.parametrize("name", OF_EVENTS)
def test_without_the_conformance_checker_the_error_has_the_install_command(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "antiphon_verify", None)
    with pytest.raises(
        ImportError, match=rf"^antiphon\.testing\.{name} .*: pip install \./verify$"
    ):
        getattr(antiphon.testing, name)


def test_the_check_of_sandboxes_needs_nothing_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "antiphon_verify", None)
    assert callable(antiphon.testing.check_sandbox)


def test_a_name_that_does_not_exist_is_missing() -> None:
    assert not hasattr(antiphon.testing, "check_nothing")
