-- The queues of agents are few and short next to that of the models: they are found without reading the jobs of models.

CREATE INDEX jobs_of_agents ON jobs (queue, response) WHERE queue > '';
