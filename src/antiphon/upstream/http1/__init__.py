"""A small HTTP/1.1 client for backends: llhttp parses, asyncio transports carry, and each response
is bounded.
"""
