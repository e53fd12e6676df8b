"""Python calls that a request costs, counted: `python -m bench.trace`. Counts do not depend on the
machine.
"""
