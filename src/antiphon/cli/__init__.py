"""The command `antiphon`."""
