"""What is large: more than the event loop processes in one step. Threads process it, piece by piece
(`sharing/offload.py`).
"""

LARGE = 64 * 1024
"""Bytes of JSON that are still decoded, checked or encoded in one step. The slowest body of this
size takes 5 ms.
"""

MANY = 250
"""Items of a conversation that are still checked and translated in one step."""

ITEM = LARGE // MANY
"""Bytes of JSON that take as long as an item."""

STORED = 16
"""Bytes of stored items that take as long as one of a client's: they were checked before."""

ROW = LARGE // 500
"""Bytes of JSON that take as long as a row that is shown in a list."""
