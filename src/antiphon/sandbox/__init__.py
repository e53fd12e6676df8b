"""Isolated machines in which a model's code runs: the contract, and one file for each technology behind it."""
