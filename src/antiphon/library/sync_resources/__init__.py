"""The resources of `Antiphon`, written by `scripts/sync_client.py`."""
