"""The parts of `antiphon launch`: a coding agent, a profile for it, and the server
that it uses.
"""
