"""Runs the tests with other versions of the dependencies, and on other Pythons. `make
test-versions` starts it.
"""
