-- The next deliveries of one webhook endpoint, however many wait for the others.

CREATE INDEX webhook_deliveries_in_turn ON webhook_deliveries (endpoint, due_at) WHERE failed_at IS NULL;
