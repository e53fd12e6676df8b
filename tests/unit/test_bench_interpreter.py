"""The bench runs on an optimised Python where there is one, and says why."""

from bench.interpreter import DEBIAN, QUICKER, Python, choose, profile_proof

DEFAULT = Python("/default", "3.11.7", "", 1.0)


def test_an_optimised_one_comes_before_the_default_however_quick() -> None:
    optimised = Python("/optimised", "3.12.1", "--enable-optimizations", 1.2)
    chosen, why = choose(DEFAULT, [Python("/quick", "3.13.0", "", 0.5), optimised])
    assert chosen is optimised
    assert why == (
        "optimised (--enable-optimizations), 0.83 times as quick in a loop as the default, /default"
    )


def test_of_two_optimised_ones_the_quicker_is_chosen() -> None:
    slow, quick = (
        Python(f"/{seconds}", "3.12.1", "-fprofile-use", seconds) for seconds in (0.8, 0.7)
    )
    assert choose(DEFAULT, [slow, quick])[0] is quick


def test_without_proof_the_loop_decides_and_a_small_difference_is_ignored() -> None:
    clearly, hardly = (
        Python("/other", "3.12.1", "", 1 / ratio) for ratio in (QUICKER + 0.1, QUICKER - 0.05)
    )
    assert choose(DEFAULT, [clearly])[0] is clearly
    assert choose(DEFAULT, [hardly]) == (
        DEFAULT,
        "the default, not known to be optimised; no other is 1.1 times as quick",
    )


def test_an_optimised_default_stays() -> None:
    default = Python("/default", "3.11.7", "-fprofile-use", 1.0)
    assert choose(default, [Python("/other", "3.12.1", "-fprofile-use", 0.95)])[0] is default
    assert choose(default, [Python("/other", "3.12.1", "", 0.5)])[0] is default


def test_the_flags_of_a_build_prove_it() -> None:
    assert profile_proof("'--enable-optimizations' '--with-lto'") == "--enable-optimizations"
    assert profile_proof("-O3 -fprofile-use -fprofile-correction") == "-fprofile-use"
    assert not profile_proof("'--enable-shared' '--prefix=/root/.pyenv/versions/3.11.7'")


def test_debian_builds_with_a_profile_where_it_has_one() -> None:
    flags = f"'--enable-shared' '--prefix=/usr' '{DEBIAN}/'"
    assert profile_proof(flags, "x86_64") == "Debian's build"
    assert not profile_proof(flags, "mips64")
