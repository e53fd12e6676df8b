"""The version of this package, defined in one place."""

__version__ = "0.1.0"
