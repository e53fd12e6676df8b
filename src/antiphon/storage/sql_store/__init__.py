"""The shared part of the SQL stores: the methods of the contract as operations that any SQL database can run."""

from antiphon.storage.sql_store.performer import OVERLOADED, shared_reads
from antiphon.storage.sql_store.store import SqlStore

__all__ = ["OVERLOADED", "SqlStore", "shared_reads"]
