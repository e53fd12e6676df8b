"""The resources of `AsyncAntiphon`. `scripts/sync_client.py` writes those of `Antiphon` from
them.
"""
