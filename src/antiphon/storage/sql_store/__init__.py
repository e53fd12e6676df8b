"""The shared part of the SQL stores: how they run operations, and the methods that take several transactions."""

from antiphon.storage.sql_store.performer import OVERLOADED, shared_reads
from antiphon.storage.sql_store.store import SqlStore

__all__ = ["OVERLOADED", "SqlStore", "shared_reads"]
