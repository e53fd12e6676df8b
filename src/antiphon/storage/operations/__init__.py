"""What a store does, statement by statement, without a database: `SqliteStore` and `PostgresStore` perform it."""
