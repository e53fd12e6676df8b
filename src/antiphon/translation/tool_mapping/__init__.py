"""Maps tools to functions of a chat model, and the calls of those functions to calls of the
tools.
"""
