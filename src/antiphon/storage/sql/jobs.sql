-- put_job --
INSERT INTO jobs (
    response, tenant, owner, version, next_number, kept_number, attempt, lost, request, api_key, tokens_taken,
    log_bytes, kept_bytes, cost_taken, models, begin_by, continuation, queue
)
VALUES ($1, $2, NULL, 0, $3, $3, 0, 0, $4, $5, $6, $7, $7, $8, $9, $10, $11, $12)

-- put_events --
INSERT INTO events (response, number, last, body) VALUES ($1, $2, $3, $4)

-- count_waiting --
-- Counts no further than the maximum number of waiting jobs. Each agent ($3) and the deferred jobs have queues of their own.
SELECT count(*)
FROM (
    SELECT 1 FROM jobs WHERE owner IS NULL AND begin_by = 0 AND queue = $3 AND tenant = $1 LIMIT $2
) AS counted

-- count_deferred --
SELECT count(*)
FROM (
    SELECT 1 FROM jobs WHERE owner IS NULL AND begin_by > 0 AND queue = $3 AND tenant = $1 LIMIT $2
) AS counted

-- next_waiting --
-- The oldest job of each tenant and key that waits or has an expired worker, and the most urgent deferred one; of these,
-- one of the best rank (`AT_ONCE`, `DUE`, `IDLE`), of the tenant with the fewest in progress. The queue is not scanned: the
-- query skips from tenant to tenant and from key to key. A job in an idle slot occupies none for those of a better rank.
-- $4 is the time; $5 and $6 are the slots of this worker that are free, and those that are idle; $7 is how many jobs of
-- one tenant can run in idle slots here; $8 is the queue: an agent, or empty. No job of an agent is deferred.
WITH RECURSIVE expired (id) AS (
    SELECT id FROM workers WHERE expired = 1 AND id <> $2
),
tenants (tenant) AS (
    SELECT min(tenant) FROM jobs WHERE owner IS NULL AND begin_by = 0 AND queue = $8
    UNION ALL
    SELECT (
        SELECT min(jobs.tenant) FROM jobs
        WHERE jobs.owner IS NULL AND jobs.begin_by = 0 AND jobs.queue = $8 AND jobs.tenant > tenants.tenant
    )
    FROM tenants WHERE tenants.tenant IS NOT NULL
),
waiting (tenant, api_key) AS (
    SELECT
        tenants.tenant,
        (
            SELECT min(jobs.api_key) FROM jobs
            WHERE jobs.owner IS NULL AND jobs.begin_by = 0 AND jobs.queue = $8 AND jobs.tenant = tenants.tenant
        )
    FROM tenants WHERE tenants.tenant IS NOT NULL
    UNION ALL
    SELECT
        waiting.tenant,
        (
            SELECT min(jobs.api_key) FROM jobs
            WHERE
                jobs.owner IS NULL AND jobs.begin_by = 0 AND jobs.queue = $8 AND jobs.tenant = waiting.tenant
                AND jobs.api_key > waiting.api_key
        )
    FROM waiting WHERE waiting.api_key IS NOT NULL
),
late_tenants (tenant) AS (
    SELECT min(tenant) FROM jobs WHERE owner IS NULL AND begin_by > 0 AND $8 = ''
    UNION ALL
    SELECT (
        SELECT min(jobs.tenant) FROM jobs
        WHERE jobs.owner IS NULL AND jobs.begin_by > 0 AND jobs.tenant > late_tenants.tenant
    )
    FROM late_tenants WHERE late_tenants.tenant IS NOT NULL
),
deferred (tenant, api_key) AS (
    SELECT
        late_tenants.tenant,
        (
            SELECT min(jobs.api_key) FROM jobs
            WHERE jobs.owner IS NULL AND jobs.begin_by > 0 AND jobs.tenant = late_tenants.tenant
        )
    FROM late_tenants WHERE late_tenants.tenant IS NOT NULL
    UNION ALL
    SELECT
        deferred.tenant,
        (
            SELECT min(jobs.api_key) FROM jobs
            WHERE
                jobs.owner IS NULL AND jobs.begin_by > 0 AND jobs.tenant = deferred.tenant
                AND jobs.api_key > deferred.api_key
        )
    FROM deferred WHERE deferred.api_key IS NOT NULL
),
claimable (tenant, api_key, response, is_takeover) AS (
    SELECT
        waiting.tenant,
        waiting.api_key,
        (
            SELECT min(jobs.response) FROM jobs
            WHERE
                jobs.owner IS NULL AND jobs.begin_by = 0 AND jobs.queue = $8 AND jobs.tenant = waiting.tenant
                AND jobs.api_key = waiting.api_key
        ),
        0
    FROM waiting WHERE waiting.api_key IS NOT NULL
    UNION ALL
    SELECT
        deferred.tenant,
        deferred.api_key,
        (
            SELECT jobs.response FROM jobs
            WHERE
                jobs.owner IS NULL AND jobs.begin_by > 0 AND jobs.tenant = deferred.tenant
                AND jobs.api_key = deferred.api_key
            ORDER BY jobs.begin_by, jobs.response LIMIT 1
        ),
        0
    FROM deferred WHERE deferred.api_key IS NOT NULL
    UNION ALL
    SELECT tenant, api_key, min(response), 1 FROM jobs
    WHERE owner IN (SELECT id FROM expired) AND queue = $8 GROUP BY tenant, api_key, begin_by
),
ranked (tenant, api_key, response, is_takeover, begin_by, class) AS (
    SELECT
        claimable.tenant, claimable.api_key, claimable.response, claimable.is_takeover, jobs.begin_by,
        CASE WHEN jobs.begin_by = 0 THEN 0 WHEN jobs.begin_by <= $4 THEN 1 ELSE 2 END
    FROM claimable JOIN jobs ON jobs.response = claimable.response
),
running (tenant, api_key, busy, here, idle, idle_here) AS (
    SELECT
        tenant, api_key, count(*), sum(CASE WHEN owner = $2 THEN 1 ELSE 0 END), sum(uses_idle),
        sum(CASE WHEN owner = $2 THEN uses_idle ELSE 0 END)
    FROM jobs
    WHERE owner IS NOT NULL AND owner NOT IN (SELECT id FROM expired) GROUP BY tenant, api_key
),
held (tenant, busy, here, idle, idle_here) AS (
    SELECT tenant, sum(busy), sum(here), sum(idle), sum(idle_here) FROM running GROUP BY tenant
)
SELECT
    ranked.response, ranked.is_takeover, ranked.class, ranked.tenant, ranked.api_key,
    CASE WHEN coalesce(held.busy, 0) >= $1 THEN 1 ELSE 0 END,
    CASE WHEN coalesce(running.busy, 0) >= api_keys.concurrency THEN 1 ELSE 0 END
FROM ranked
LEFT JOIN held ON held.tenant = ranked.tenant
LEFT JOIN running ON running.tenant = ranked.tenant AND running.api_key = ranked.api_key
LEFT JOIN api_keys ON api_keys.id = ranked.api_key
WHERE
    (ranked.class = 0 OR (ranked.class = 1 AND $5 > 0) OR $6 > 0)
    AND coalesce(held.busy, 0) - CASE WHEN ranked.class = 0 THEN coalesce(held.idle, 0) ELSE 0 END < $1
    AND coalesce(held.here, 0) - CASE WHEN ranked.class = 0 THEN coalesce(held.idle_here, 0) ELSE 0 END < $3
    AND (ranked.class < 2 OR coalesce(held.idle_here, 0) < $7)
    AND (
        api_keys.concurrency IS NULL
        OR coalesce(running.busy, 0) - CASE WHEN ranked.class = 0 THEN coalesce(running.idle, 0) ELSE 0 END
        < api_keys.concurrency
    )
ORDER BY
    ranked.class,
    coalesce(held.busy, 0) - CASE WHEN ranked.class = 0 THEN coalesce(held.idle, 0) ELSE 0 END,
    ranked.begin_by,
    ranked.response
LIMIT 1

-- related --
-- The waiting jobs of a tenant and a key that continue others, oldest first: those that never wait for idle slots ($3 is
-- 0), or the others.
SELECT response, continuation FROM jobs
WHERE
    owner IS NULL AND continuation <> '' AND tenant = $1 AND api_key = $2
    AND CASE WHEN begin_by = 0 THEN 0 ELSE 1 END = $3
ORDER BY response LIMIT $4

-- in_idle_slots --
-- Newest first: what runs in idle slots of this worker ($1) or of a tenant ($2), and whether it is of the worker, of the
-- tenant, and of the key ($3), which no other tenant has.
SELECT
    response, CASE WHEN owner = $1 THEN 1 ELSE 0 END, CASE WHEN tenant = $2 THEN 1 ELSE 0 END,
    CASE WHEN api_key = $3 THEN 1 ELSE 0 END
FROM jobs
WHERE owner IS NOT NULL AND uses_idle = 1 AND (owner = $1 OR tenant = $2)
ORDER BY response DESC FOR UPDATE

-- pin --
UPDATE jobs SET queue = $3 WHERE response = (SELECT seq FROM responses WHERE id = $1) AND version = $2 RETURNING response

-- waiting_in --
SELECT jobs.tenant, responses.id FROM jobs JOIN responses ON responses.seq = jobs.response
WHERE
    jobs.queue = $1 AND jobs.queue > ''
    AND coalesce(jobs.owner, '') IN (SELECT id FROM workers WHERE expired = 1 UNION ALL SELECT '')
LIMIT $2

-- claim --
-- $3 is 1 if its worker has expired: its unfinished events are deleted. $4 is 1 if it takes an idle slot.
UPDATE jobs SET
    owner = $2, uses_idle = $4, version = version + 1, attempt = attempt + 1, lost = lost + $3,
    log_bytes = CASE WHEN $3 = 1 THEN kept_bytes ELSE log_bytes END
WHERE response = $1 AND (owner IS NULL OR owner IN (SELECT id FROM workers WHERE expired = 1))
RETURNING response, (SELECT expired FROM workers WHERE workers.id = $2)

-- start --
UPDATE responses SET status = 'in_progress' WHERE seq = $1 AND status = 'queued' RETURNING seq

-- job_by_seq --
-- In a `Job`, `kept_number` is `resume_number`, `lost` is `crashes`, and `called` is `checkpoint`.
-- Without the client's request, or the records of its calls, if it has more than $2 bytes.
SELECT
    responses.seq, responses.id, responses.tenant,
    CASE WHEN length(jobs.request) <= $2 THEN jobs.request END,
    jobs.version, jobs.next_number, jobs.kept_number, jobs.attempt, jobs.lost,
    CASE WHEN length(jobs.called) <= $2 THEN jobs.called END,
    jobs.api_key, jobs.tokens_taken, jobs.cost_taken, jobs.models, jobs.uses_idle, jobs.continuation,
    jobs.queue,
    responses.item_count,
    length(jobs.request) + length(jobs.called), responses.item_bytes + jobs.output_bytes + length(responses.body)
FROM jobs JOIN responses ON responses.seq = jobs.response
WHERE responses.seq = $1

-- job_by_id --
-- The same, with a limit of $3 bytes.
SELECT
    responses.seq, responses.id, responses.tenant,
    CASE WHEN length(jobs.request) <= $3 THEN jobs.request END,
    jobs.version, jobs.next_number, jobs.kept_number, jobs.attempt, jobs.lost,
    CASE WHEN length(jobs.called) <= $3 THEN jobs.called END,
    jobs.api_key, jobs.tokens_taken, jobs.cost_taken, jobs.models, jobs.uses_idle, jobs.continuation,
    jobs.queue,
    responses.item_count,
    length(jobs.request) + length(jobs.called), responses.item_bytes + jobs.output_bytes + length(responses.body)
FROM jobs JOIN responses ON responses.seq = jobs.response
WHERE responses.id = $1 AND responses.tenant = $2

-- advance --
UPDATE jobs SET
    version = version + 1,
    next_number = $3,
    kept_number = CASE WHEN $4 = 1 THEN $3 ELSE kept_number END,
    called = coalesce($5, called),
    log_bytes = log_bytes + $6 + $8,
    kept_bytes = CASE WHEN $4 = 1 THEN log_bytes + $6 ELSE kept_bytes END + $8,
    output_bytes = output_bytes + $7,
    step_bytes = step_bytes + $8
WHERE response = (SELECT seq FROM responses WHERE id = $1) AND version = $2
RETURNING response

-- finish --
-- From now on, its log belongs to the response.
DELETE FROM jobs
WHERE response = (SELECT seq FROM responses WHERE id = $1) AND version = $2
RETURNING response, log_bytes, step_bytes

-- end_response --
UPDATE responses SET status = $2, body = $3, expires_at = $4, log_bytes = $5, item_count = $6, item_bytes = $7
WHERE seq = $1
RETURNING seq

-- drop_output --
DELETE FROM items WHERE response = $1 AND is_output = 1

-- owned --
SELECT responses.id, jobs.version FROM jobs JOIN responses ON responses.seq = jobs.response WHERE jobs.owner = $1

-- beat --
-- A worker with a heartbeat is alive: it owns again whatever no other worker has claimed.
INSERT INTO workers (id, beat, expired) VALUES ($1, 1, 0)
ON CONFLICT (id) DO UPDATE SET beat = workers.beat + 1, expired = 0

-- beat_with_agents --
INSERT INTO workers (id, beat, expired, agents) VALUES ($1, 1, 0, $2)
ON CONFLICT (id) DO UPDATE SET beat = workers.beat + 1, expired = 0, agents = excluded.agents

-- offered_agents --
SELECT agents FROM workers WHERE agents <> '' AND expired = 0 ORDER BY id

-- workers_of_agents --
SELECT id, agents FROM workers WHERE agents <> '' AND expired = 0 ORDER BY id

-- queues_of_agents --
-- `coalesce` lets SQLite use the index of the jobs of agents, and not read all jobs that wait.
SELECT waiting.queue, waiting.jobs, responses.created_at
FROM (
    SELECT queue, count(*) AS jobs, min(response) AS first
    FROM jobs
    WHERE coalesce(owner, '') = '' AND queue > ''
    GROUP BY queue
) AS waiting
JOIN responses ON responses.seq = waiting.first

-- claimed_of_agents --
-- Of each worker and agent; those of an expired worker wait. `coalesce` is for the index, as above.
SELECT claimed.owner, claimed.queue, coalesce(workers.expired, 0), claimed.jobs, responses.created_at
FROM (
    SELECT owner, queue, count(*) AS jobs, min(response) AS first
    FROM jobs
    WHERE coalesce(owner, '') > '' AND queue > ''
    GROUP BY owner, queue
) AS claimed
JOIN responses ON responses.seq = claimed.first
LEFT JOIN workers ON workers.id = claimed.owner

-- revive --
UPDATE workers SET expired = 0 WHERE id = $1

-- beats --
SELECT owners.owner, coalesce(workers.beat, 0)
FROM (
    SELECT owner FROM jobs WHERE owner IS NOT NULL
    UNION SELECT owner FROM conversations WHERE owner IS NOT NULL
    UNION SELECT owner FROM idempotency_keys WHERE owner IS NOT NULL
    UNION SELECT owner FROM vector_store_files WHERE status = 'in_progress' AND owner IS NOT NULL
    UNION SELECT id FROM workers WHERE agents <> ''
) AS owners
LEFT JOIN workers ON workers.id = owners.owner
WHERE coalesce(workers.expired, 0) = 0

-- expire --
UPDATE workers SET expired = 1 WHERE id = $1 AND beat = $2 AND expired = 0 RETURNING id

-- expire_silent --
-- A missing row counts like one that does not change.
INSERT INTO workers (id, beat, expired) VALUES ($1, 0, 1)
ON CONFLICT (id) DO UPDATE SET expired = 1 WHERE workers.beat = 0 AND workers.expired = 0
RETURNING id

-- forget_expired --
-- Workers without remaining leases.
DELETE FROM workers
WHERE
    expired = 1
    AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.owner = workers.id)
    AND NOT EXISTS (SELECT 1 FROM conversations WHERE conversations.owner = workers.id)
    AND NOT EXISTS (SELECT 1 FROM idempotency_keys WHERE idempotency_keys.owner = workers.id)
    AND NOT EXISTS (
        SELECT 1 FROM vector_store_files
        WHERE vector_store_files.status = 'in_progress' AND vector_store_files.owner = workers.id
    )

-- retire --
DELETE FROM workers WHERE id = $1 RETURNING id

-- lock_worker --
-- The worker without a name represents the queue: only one worker at a time selects the next job, because the selection
-- depends on all jobs in progress.
SELECT beat FROM workers WHERE id = $1 FOR UPDATE

-- jobs_of --
-- Ordered by tenant, the order in which every write updates the sizes of several tenants.
SELECT response FROM jobs WHERE owner = $1 ORDER BY tenant, response FOR UPDATE

-- job_of --
SELECT response FROM jobs WHERE owner = $1 AND response = (SELECT seq FROM responses WHERE id = $2) FOR UPDATE

-- drop_events --
-- Events after the resume point.
DELETE FROM events WHERE response = $1 AND number >= (SELECT kept_number FROM jobs WHERE response = $1)

-- drop_log --
DELETE FROM events WHERE response = $1

-- next_generation --
UPDATE responses SET generation = generation + 1 WHERE seq = $1 RETURNING id

-- put_back --
-- Without its unfinished events.
UPDATE jobs SET owner = NULL, uses_idle = 0, version = version + 1, log_bytes = kept_bytes WHERE response = $1

-- let_all_go --
UPDATE conversations SET holder = NULL, owner = NULL WHERE owner = $1

-- free_all_keys --
DELETE FROM idempotency_keys WHERE owner = $1 AND reply IS NULL

-- tail --
SELECT seq, status, is_streamed, generation, item_bytes FROM responses
WHERE id = $1 AND tenant = $2 AND (expires_at IS NULL OR expires_at > $3)

-- event_sizes --
-- From the frame that contains the next number, or would contain it.
SELECT length(body) FROM events
WHERE
    response = $1 AND last > $2
    AND number >= coalesce((SELECT max(number) FROM events WHERE response = $1 AND number <= $2 + 1), 0)
ORDER BY number LIMIT $3

-- events_after --
SELECT number, last, body FROM events
WHERE
    response = $1 AND last > $2
    AND number >= coalesce((SELECT max(number) FROM events WHERE response = $1 AND number <= $2 + 1), 0)
ORDER BY number LIMIT $3

-- held --
SELECT holder FROM conversations WHERE owner = $1
UNION SELECT response_id FROM idempotency_keys WHERE owner = $1

-- release_conversation --
UPDATE conversations SET holder = NULL, owner = NULL WHERE owner = $1 AND holder = $2

-- release_key --
DELETE FROM idempotency_keys WHERE owner = $1 AND response_id = $2 AND reply IS NULL

-- backlog --
-- A deferred job with a `begin_by` before $1 is overdue.
SELECT
    (
        SELECT count(*) FROM jobs
        WHERE begin_by = 0 AND (owner IS NULL OR owner IN (SELECT id FROM workers WHERE expired = 1))
    ),
    (SELECT count(*) FROM webhook_deliveries WHERE failed_at IS NULL),
    (
        SELECT count(*) FROM jobs
        WHERE begin_by > 0 AND (owner IS NULL OR owner IN (SELECT id FROM workers WHERE expired = 1))
    ),
    (
        SELECT count(*) FROM jobs
        WHERE
            begin_by > 0 AND begin_by < $1
            AND (owner IS NULL OR owner IN (SELECT id FROM workers WHERE expired = 1))
    )

-- response_place --
SELECT seq FROM responses WHERE id = $1 AND (CAST($2 AS BIGINT) = 0 OR tenant = $3)

-- deferred_page --
-- Deferred jobs that no worker runs, oldest first, after the place $1; $2 is 1 for those of one tenant. Facts may be
-- switched off.
SELECT
    responses.id, jobs.tenant, jobs.api_key, responses.created_at, jobs.begin_by, jobs.attempt, jobs.lost,
    coalesce(facts.model, ''), coalesce(facts.flags, 0), coalesce(facts.input, '')
FROM jobs
JOIN responses ON responses.seq = jobs.response
LEFT JOIN facts ON facts.id = responses.id
WHERE
    jobs.owner IS NULL AND jobs.begin_by > 0 AND jobs.response > $1
    AND (CAST($2 AS BIGINT) = 0 OR jobs.tenant = $3)
ORDER BY jobs.response LIMIT $4
