"""Coverage-guided fuzzing: bytes from strangers, changed until they reach new code.

Hypothesis draws inputs from a description; libFuzzer (through atheris) changes bytes, keeps each
change that reaches a line which none reached before, and goes on from it. So it finds forms that
nobody described. `targets/` says for each reader of foreign bytes what must hold for any input: no
exception that its docstring does not name, and the same result by another way (cut elsewhere, read
in one step, read twice). `make fuzz` runs them; an input that broke one becomes an ordinary test.
"""
