-- The size of a worker of each Postgres pipe of a service.
CREATE TABLE cdc_scaling (
  service_id TEXT PRIMARY KEY REFERENCES services (id) ON DELETE CASCADE,
  cpu_millicores INTEGER NOT NULL,
  memory_gb INTEGER NOT NULL
);
