"""`python -m tests.fuzz [TARGET...]`: change inputs until they reach new code, and check what comes
of them.

Each target runs in a process of its own, since libFuzzer ends it. What was reached so far stays in
`.fuzz/NAME`, and an input that broke a target in `.fuzz/NAME.broken`.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

CORPUS = Path(".fuzz")

LONGEST = 4096
"""Bytes of an input."""

PATIENCE = 10
"""Seconds that one input may take."""


def main() -> int:
    """Fuzz the named targets one after the other, all without a name; return 1 if one broke."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help="names of readers")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        fuzz(options.here, options.seconds)
    from tests.fuzz.all_targets import TARGETS  # noqa: PLC0415 - `fuzz` changes it as it is imported

    broken = []
    for name in options.targets or TARGETS:
        print(f"== {name}", flush=True)
        command = [sys.executable, "-m", "tests.fuzz", "--here", name]
        if subprocess.run([*command, f"--seconds={options.seconds}"], check=False).returncode:
            broken.append(name)
    print(f"Broken: {', '.join(broken)}" if broken else "Nothing is broken.")
    return bool(broken)


def fuzz(name: str, seconds: int) -> None:
    """Fuzz one target in this process, and end it."""
    import atheris  # noqa: PLC0415 - Linux only, and installed by `make fuzz` alone

    with atheris.instrument_imports(include=["antiphon"]):
        from tests.fuzz.all_targets import TARGETS  # noqa: PLC0415 - it is changed as it is imported

    target = TARGETS[name]
    reached = CORPUS / name
    broken = CORPUS / f"{name}.broken"
    for folder in (reached, broken):
        folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds):
        (reached / f"seed-{number}").write_bytes(seed)
    words = CORPUS / f"{name}.words"
    words.write_text("".join(f"{_quoted(word)}\n" for word in target.words or [b"{"]))
    options = {
        "dict": words,
        "max_total_time": seconds,
        "artifact_prefix": f"{broken}{os.sep}",
        "max_len": LONGEST,
        "timeout": PATIENCE,
        "print_final_stats": 1,
        "verbosity": 0,
    }
    flags = [f"-{option}={value}" for option, value in options.items()]
    atheris.Setup([sys.argv[0], str(reached), *flags], target.check)
    atheris.Fuzz()


def _quoted(word: bytes) -> str:
    return '"' + "".join(f"\\x{byte:02x}" for byte in word) + '"'


if __name__ == "__main__":
    sys.exit(main())
