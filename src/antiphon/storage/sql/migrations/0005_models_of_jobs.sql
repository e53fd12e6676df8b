-- The models that the API key of a background response allowed when it was queued, as a JSON list; an empty list allows
-- all. Its worker applies them to models that the response reaches without naming them, such as the one for images.
-- Older PostgreSQL databases have the column already, from a migration with the number 4.

-- sqlite: ALTER TABLE jobs ADD COLUMN models TEXT NOT NULL DEFAULT '[]';
-- postgres: ALTER TABLE jobs ADD COLUMN IF NOT EXISTS models TEXT NOT NULL DEFAULT '[]';
