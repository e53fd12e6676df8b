"""Antiphon beside other servers of the Responses API: same backend, same load: `python -m
bench.peers`.
"""
