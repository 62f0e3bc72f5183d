CREATE TABLE organizations (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  created_at TEXT NOT NULL
);

CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  name TEXT NOT NULL,
  key_id TEXT NOT NULL UNIQUE,
  secret_hash TEXT NOT NULL,
  key_suffix TEXT NOT NULL,
  role TEXT NOT NULL,
  state TEXT NOT NULL,
  expire_at TEXT,
  used_at TEXT,
  created_at TEXT NOT NULL
);
CREATE INDEX api_keys_organization ON api_keys (organization_id);

CREATE TABLE access_tokens (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  name TEXT NOT NULL,
  token_hash TEXT NOT NULL UNIQUE,
  token_suffix TEXT NOT NULL,
  state TEXT NOT NULL,
  expire_at TEXT,
  used_at TEXT,
  created_at TEXT NOT NULL
);
CREATE INDEX access_tokens_organization ON access_tokens (organization_id);

CREATE TABLE services (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  name TEXT NOT NULL,
  provider TEXT NOT NULL,
  region TEXT NOT NULL,
  port INTEGER NOT NULL UNIQUE,
  min_replica_memory_gb INTEGER NOT NULL,
  max_replica_memory_gb INTEGER NOT NULL,
  num_replicas INTEGER NOT NULL,
  idle_scaling INTEGER NOT NULL,
  idle_timeout_minutes INTEGER NOT NULL,
  ip_access_list TEXT NOT NULL,
  tags TEXT NOT NULL,
  release_channel TEXT,
  desired_state TEXT NOT NULL,
  wake_requested INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL,
  state_message TEXT,
  database_version TEXT NOT NULL DEFAULT '',
  restarts INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX services_organization ON services (organization_id, created_at);

CREATE TABLE service_users (
  service_id TEXT NOT NULL REFERENCES services (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  password_sha256 TEXT NOT NULL,
  readonly INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (service_id, name)
);

CREATE TABLE pipes (
  id TEXT PRIMARY KEY,
  service_id TEXT NOT NULL REFERENCES services (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  source_kind TEXT NOT NULL,
  source TEXT NOT NULL,
  source_secrets TEXT,
  destination TEXT NOT NULL,
  roles TEXT,
  field_mappings TEXT NOT NULL,
  scaling TEXT NOT NULL,
  settings TEXT NOT NULL,
  desired_state TEXT NOT NULL,
  generation INTEGER NOT NULL DEFAULT 1,
  observed_generation INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL,
  last_error TEXT,
  epoch INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX pipes_service ON pipes (service_id, created_at);

-- One row per lane of a pipe: the position up to which everything is durable in the destination.
CREATE TABLE pipe_checkpoints (
  pipe_id TEXT NOT NULL REFERENCES pipes (id) ON DELETE CASCADE,
  lane TEXT NOT NULL,
  checkpoint TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (pipe_id, lane)
);

-- Batches whose insert has begun and is not yet confirmed. A replay uses exactly what stands here.
CREATE TABLE pipe_intents (
  pipe_id TEXT NOT NULL REFERENCES pipes (id) ON DELETE CASCADE,
  batch_id TEXT NOT NULL,
  lane TEXT NOT NULL,
  intent TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (pipe_id, batch_id)
);

-- Things a source has finished with or given up on (object versions, for example), by key.
CREATE TABLE pipe_marks (
  pipe_id TEXT NOT NULL REFERENCES pipes (id) ON DELETE CASCADE,
  mark_key TEXT NOT NULL,
  mark TEXT NOT NULL,
  PRIMARY KEY (pipe_id, mark_key)
);

CREATE TABLE pipe_counters (
  pipe_id TEXT NOT NULL REFERENCES pipes (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (pipe_id, name)
);
