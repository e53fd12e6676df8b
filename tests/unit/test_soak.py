"""How the samples of a soak are judged."""

from dataclasses import replace

from tests.soak.growth import Sample, problems, slope

FLAT = [
    Sample(at=60.0 * n, memory=100_000_000, descriptors=20, threads=4, p99=0.02) for n in range(60)
]


def test_a_flat_process_has_no_problem() -> None:
    assert problems(FLAT) == []


def test_memory_that_grows_by_two_megabytes_an_hour_is_found() -> None:
    grown = [replace(one, memory=one.memory + int(one.at * 2_000_000 / 3600)) for one in FLAT]

    assert round(slope(grown), -4) == 2_000_000
    assert problems(grown) == ["Memory grows by 2.00 MB an hour."]


def test_one_high_sample_is_no_growth() -> None:
    assert problems([*FLAT[:-1], replace(FLAT[-1], memory=150_000_000)]) == []


def test_descriptors_that_stay_open_are_found() -> None:
    leaking = [replace(one, descriptors=20 + place) for place, one in enumerate(FLAT)]

    assert problems(leaking) == ["The process has 68 descriptors, and had 43."]


def test_a_server_that_slows_down_is_found() -> None:
    slower = [replace(one, p99=0.02 + 0.002 * place) for place, one in enumerate(FLAT)]

    assert len(problems(slower)) == 1
    assert "p99" in problems(slower)[0]


def test_too_few_samples_prove_nothing() -> None:
    assert problems(FLAT[:4]) == ["There are too few samples: run it for longer."]
