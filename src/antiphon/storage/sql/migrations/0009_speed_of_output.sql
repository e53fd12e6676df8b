-- The speed of the output: of streamed responses, the output tokens, and the milliseconds from their first token to their
-- end. Sums of earlier responses have neither, so they have no speed.

ALTER TABLE sums ADD COLUMN streamed_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sums ADD COLUMN streamed_ms BIGINT NOT NULL DEFAULT 0;
