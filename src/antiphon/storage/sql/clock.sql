-- read_clock --
-- Only SQLite has this table; PostgreSQL's own clock decides.
SELECT at, written_by, asked FROM clock WHERE id = 1

-- write_clock --
UPDATE clock SET at = $1, written_by = $2 WHERE id = 1

-- ask_clock --
UPDATE clock SET asked = asked + 1 WHERE id = 1
