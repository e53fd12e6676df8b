"""Isolated machines that run a model's code: the interface, and one file for each technology behind
it.
"""
