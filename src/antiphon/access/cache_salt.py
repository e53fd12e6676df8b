"""Keeps the prefix caches of tenants apart at a backend that they share.

A prompt is answered sooner if the backend has read its beginning before, so a tenant could find out
by timing whether another tenant has sent a certain text. vLLM mixes a request's `cache_salt` into
its cache keys: requests with different salts reuse nothing of each other.
"""

from hashlib import sha256

PARAMETER = "cache_salt"
"""The parameter of vLLM, in all its APIs."""


def salt_of(tenant: str) -> str:
    """Return a tenant's salt: the same in every process, different from every other tenant's, and
    not its name.
    """
    return sha256(f"antiphon cache salt\0{tenant}".encode()).hexdigest()[:32]
