-- stored_bytes --
SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM tenant_sizes WHERE tenant = $1

-- storage_use --
-- Reads the row of every tenant, because every save would have to update an index by size.
WITH stored AS (
    SELECT tenant, CAST(sum(bytes) AS BIGINT) AS bytes FROM tenant_sizes GROUP BY tenant HAVING sum(bytes) > 0
)
SELECT
    tenant,
    bytes,
    (SELECT count(*) FROM stored),
    (SELECT CAST(sum(bytes) AS BIGINT) FROM stored)
FROM stored ORDER BY bytes DESC, tenant LIMIT $1
