"""The bench runs: its stand-ins still have what is looked at. How fast anything is says `make bench` alone."""

from bench import figures


def test_what_is_measured_in_this_process_can_be() -> None:
    assert all(value > 0 for _, _, value in figures.translation())
