"""The operations of a store, as SQL statements without a database. `SqliteStore` and
`PostgresStore` run them.
"""
