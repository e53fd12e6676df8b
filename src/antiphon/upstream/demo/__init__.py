"""The built-in model `demo`: a scripted Chat Completions model, for when no real one is near."""

from antiphon.upstream.demo.model import DemoBackend

__all__ = ["DemoBackend"]
