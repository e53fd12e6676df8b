-- What was put down last of the calls that are being carried out for a background response.

ALTER TABLE jobs ADD COLUMN called BLOB NOT NULL DEFAULT x'';
