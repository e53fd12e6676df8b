-- count_running_containers --
SELECT count(*) FROM containers WHERE expires_at > $1 AND is_emptied = 0
