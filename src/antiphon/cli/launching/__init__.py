"""The parts of `antiphon launch`: a client of the Responses API, a profile for it, and the server
that it uses.
"""
