"""An HTTP server for any ASGI application: uvicorn with additional bounds, its shutdown, and the
processes of one port.

It imports nothing else of Antiphon. What it needs of an application is a parameter or a protocol.
"""
