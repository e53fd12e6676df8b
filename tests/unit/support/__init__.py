"""The tools of the tests that decide whether a run passes."""
