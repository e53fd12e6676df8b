"""The keys that seal what clients carry for a backend."""

from collections.abc import Sequence

from antiphon.access.keyring import Keyring, new_key
from antiphon.storage.contract import Store


async def open_keyring(store: Store, keys: Sequence[bytes] = ()) -> Keyring:
    """Return the keys that are configured; the last is one that the servers of this store share."""
    return Keyring([*keys, await store.secret("seal", new_key())])
