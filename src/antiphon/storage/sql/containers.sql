-- put_container --
INSERT INTO containers (
    id, tenant, name, created_at, last_active_at, idle_minutes, expires_at, memory_limit, network_policy, is_auto
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
RETURNING seq

-- running_containers --
SELECT count(*) FROM containers WHERE tenant = $1 AND expires_at > $2 AND is_emptied = 0

-- load_container --
SELECT
    id, tenant, name, created_at, last_active_at, idle_minutes, memory_limit, network_policy, is_auto, worker, calls,
    expires_at, is_emptied, holder, held_until, seq
FROM containers WHERE id = $1 AND tenant = $2

-- lock_container --
-- Every change of a container or of its files begins with this statement.
SELECT
    id, tenant, name, created_at, last_active_at, idle_minutes, memory_limit, network_policy, is_auto, worker, calls,
    expires_at, is_emptied, holder, held_until, seq
FROM containers WHERE id = $1 AND tenant = $2 FOR UPDATE

-- use_container --
UPDATE containers SET last_active_at = $2, expires_at = $3 WHERE seq = $1

-- hold_container --
UPDATE containers
SET holder = $4, held_until = $5, worker = $6, calls = calls + 1, last_active_at = $2, expires_at = $3
WHERE seq = $1

-- renew_container_hold --
UPDATE containers SET held_until = $4, last_active_at = $2, expires_at = $3 WHERE seq = $1

-- end_container_hold --
UPDATE containers SET holder = '', last_active_at = $2, expires_at = $3 WHERE seq = $1

-- delete_container --
-- Also deletes its files.
DELETE FROM containers WHERE id = $1 AND tenant = $2 RETURNING seq

-- container_place --
SELECT seq FROM containers WHERE id = $1 AND tenant = $2

-- container_place_of_all --
SELECT seq FROM containers WHERE id = $1

-- containers_up --
SELECT
    id, tenant, name, created_at, last_active_at, idle_minutes, memory_limit, network_policy, is_auto, worker, calls,
    expires_at, is_emptied, holder, held_until, seq
FROM containers WHERE tenant = $1 AND seq > $2 AND seq < $3 ORDER BY seq LIMIT $4

-- containers_down --
SELECT
    id, tenant, name, created_at, last_active_at, idle_minutes, memory_limit, network_policy, is_auto, worker, calls,
    expires_at, is_emptied, holder, held_until, seq
FROM containers WHERE tenant = $1 AND seq > $2 AND seq < $3 ORDER BY seq DESC LIMIT $4

-- named_containers_up --
SELECT
    id, tenant, name, created_at, last_active_at, idle_minutes, memory_limit, network_policy, is_auto, worker, calls,
    expires_at, is_emptied, holder, held_until, seq
FROM containers WHERE tenant = $1 AND name = $2 AND seq > $3 AND seq < $4 ORDER BY seq LIMIT $5

-- named_containers_down --
SELECT
    id, tenant, name, created_at, last_active_at, idle_minutes, memory_limit, network_policy, is_auto, worker, calls,
    expires_at, is_emptied, holder, held_until, seq
FROM containers WHERE tenant = $1 AND name = $2 AND seq > $3 AND seq < $4 ORDER BY seq DESC LIMIT $5

-- containers_of_all_up --
SELECT
    id, tenant, name, created_at, last_active_at, idle_minutes, memory_limit, network_policy, is_auto, worker, calls,
    expires_at, is_emptied, holder, held_until, seq
FROM containers WHERE seq > $1 AND seq < $2 AND name = coalesce($4, name) ORDER BY seq LIMIT $3

-- containers_of_all_down --
SELECT
    id, tenant, name, created_at, last_active_at, idle_minutes, memory_limit, network_policy, is_auto, worker, calls,
    expires_at, is_emptied, holder, held_until, seq
FROM containers WHERE seq > $1 AND seq < $2 AND name = coalesce($4, name) ORDER BY seq DESC LIMIT $3

-- expired_containers --
SELECT seq FROM containers WHERE expires_at <= $1 AND is_emptied = 0 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED

-- has_expired_container --
SELECT 1 FROM containers WHERE expires_at <= $1 AND is_emptied = 0 LIMIT 1

-- empty_container --
DELETE FROM container_files WHERE container = $1

-- mark_container_emptied --
UPDATE containers SET is_emptied = 1, holder = '' WHERE seq = $1

-- purge_containers --
DELETE FROM containers
WHERE seq IN (SELECT seq FROM containers WHERE expires_at <= $1 AND is_emptied = 1 ORDER BY expires_at LIMIT $2)
RETURNING seq

-- count_containers --
SELECT count(*) FROM containers WHERE expires_at <= $1 AND is_emptied = 1

-- take_blob --
-- A new blob, or the blob of another file of the tenant.
UPDATE blobs SET uses = uses + 1, digest = coalesce(digest, $3) WHERE id = $1 AND tenant = $2 AND uses >= 0
RETURNING id

-- container_files --
SELECT id, path, size, seq FROM container_files WHERE container = $1

-- put_container_file --
INSERT INTO container_files (id, container, tenant, path, size, blob, source, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)

-- replace_container_file --
UPDATE container_files SET size = $2, blob = $3, source = $4, created_at = $5 WHERE seq = $1

-- load_container_file --
SELECT
    container_files.id, container_files.tenant, containers.id, path, size, blob, source, container_files.created_at,
    container_files.seq
FROM container_files JOIN containers ON containers.seq = container
WHERE container_files.id = $1 AND containers.id = $2 AND containers.tenant = $3 AND expires_at > $4 AND is_emptied = 0

-- delete_container_file --
DELETE FROM container_files WHERE id = $1 AND container = $2 RETURNING seq

-- container_files_up --
SELECT
    container_files.id, container_files.tenant, containers.id, path, size, blob, source, container_files.created_at,
    container_files.seq
FROM container_files JOIN containers ON containers.seq = container
WHERE container = $1 AND container_files.seq > $2 AND container_files.seq < $3
ORDER BY container_files.seq LIMIT $4

-- container_files_down --
SELECT
    container_files.id, container_files.tenant, containers.id, path, size, blob, source, container_files.created_at,
    container_files.seq
FROM container_files JOIN containers ON containers.seq = container
WHERE container = $1 AND container_files.seq > $2 AND container_files.seq < $3
ORDER BY container_files.seq DESC LIMIT $4
