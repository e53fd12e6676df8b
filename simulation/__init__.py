"""Deterministic simulation: several servers, their store, their backends and their clients run in
one event loop with a simulated clock, and one seed decides everything that happens.

`docs/why/simulation.md` describes it.
"""
