"""What the stores in SQL databases have in common: the contract's methods as acts, whichever database performs them."""

from antiphon.storage.sql_store.performer import OVERLOADED, MakeAct, shared_reads
from antiphon.storage.sql_store.store import SqlStore

__all__ = ["OVERLOADED", "MakeAct", "SqlStore", "shared_reads"]
