"""Tools as functions of a chat model, and the calls of those functions as calls of the tools."""
