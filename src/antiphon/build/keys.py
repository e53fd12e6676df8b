"""The keys that seal state which clients store for a backend."""

from collections.abc import Sequence

from antiphon.access.keyring import Keyring, new_key
from antiphon.storage.operations import secrets
from antiphon.storage.store import Store


async def open_keyring(store: Store, keys: Sequence[bytes] = ()) -> Keyring:
    """Return the configured keys; the last key is shared by the servers of this store."""
    return Keyring([*keys, await store.write(secrets.agree, "seal", new_key())])
