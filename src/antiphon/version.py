"""The version of this package, told in one place."""

__version__ = "0.1.0"
