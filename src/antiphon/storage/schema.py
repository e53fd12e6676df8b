"""The schemas that this version does not open, and the reasons that it gives. Such a database stays
unchanged.
"""

EARLIER = (
    "was created before Antiphon's first release (0.1.0), and no release upgrades it; "
    "it is unchanged"
)
"""The reason for a file from before the first release: its migrations had other numbers."""

EARLIER_STORE = f"{EARLIER}. Name another database with --store, or in the settings."
"""The same for the database of a store, with what to do."""


def newer(found: int, newest: int) -> str:
    """Return the reason for a database with schema `found`, if this version knows the schemas up to
    `newest`.
    """
    return f"has schema {found}, newer than this Antiphon's {newest}; upgrade Antiphon"
