"""Measures the capabilities of one model at one backend, with a limited number of short
requests.
"""
