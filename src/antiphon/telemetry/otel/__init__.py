"""OpenTelemetry traces of requests, model calls and tool calls. Loaded only if a collector is
configured.
"""
