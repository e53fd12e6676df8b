"""Antiphon inside another program: the clients, the ASGI application, and transports for the
official SDK.
"""
