-- What was put down last of the calls that are being carried out for a background response.

ALTER TABLE jobs ADD COLUMN called BYTEA NOT NULL DEFAULT '';
