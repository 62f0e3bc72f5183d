-- The schema of the metadata.
-- replaces: 251, the last migration of the versions before the first release. A database that has it has this schema.
-- breaking: those versions look for their own migrations.

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
  created_at TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 1,
  -- The addresses from which a key is accepted, as the JSON list of the API; null: from anywhere.
  ip_access_list TEXT
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
  created_at TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 1
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
  updated_at TEXT NOT NULL,
  -- What a service may use of the disk, in GiB, or null; and what its engine has said last.
  disk_gb INTEGER,
  disk_used_bytes INTEGER,
  state_changed_at TEXT,
  -- Rows of the service's tables, as its engine has said last; null: never.
  table_rows INTEGER,
  -- Raised by every change that is requested, so that a request can name the version that it means to change. Pipes have
  -- `generation`.
  version INTEGER NOT NULL DEFAULT 1,
  -- A service whose server is not ours has the runtime `external`: how it is reached is in `connection`, as JSON, and its
  -- password sealed beside it.
  runtime TEXT NOT NULL DEFAULT 'embedded',
  connection TEXT,
  connection_password TEXT,
  -- The node whose data directory contains the engine's data, null for an external service.
  node_id TEXT,
  -- When a process that does not write the service's state has last passed on a query of it.
  used_elsewhere_at TEXT,
  -- How the hosts of a service in Kubernetes are reached, as JSON of the same form as `connection`: its cluster has
  -- reported them, and processes without access to the cluster connect with them.
  managed_connection TEXT
);
CREATE INDEX services_organization ON services (organization_id, created_at);

CREATE TABLE service_users (
  service_id TEXT NOT NULL REFERENCES services (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  password_sha256 TEXT NOT NULL,
  readonly INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  -- Users and roles that statements have made within a service. The rights are JSON: grants in their order, and roles.
  -- A user without them was made by the management API, and has the rights of all such users.
  rights TEXT,
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
  updated_at TEXT NOT NULL,
  -- Asked for by the `resync` command; the pipes supervisor starts the pipe over when its workers have ended.
  resync_requested INTEGER NOT NULL DEFAULT 0,
  -- A rename changes the version of a pipe, and no definition that a worker runs: version = generation + renames.
  renames INTEGER NOT NULL DEFAULT 0,
  -- Since when the state is what it is; null: since before this was recorded.
  state_changed_at TEXT,
  -- Destination tables, as JSON, that a pipe with several tables copies anew while the others go on.
  resync_tables TEXT,
  -- Objects, as JSON, that a pipe loads once more beside those that it has not loaded yet.
  resync_objects TEXT
);
CREATE INDEX pipes_service ON pipes (service_id, created_at);
-- Pipes of a service are counted by state in every list of services: from the index alone.
CREATE INDEX pipes_states ON pipes (service_id, desired_state, state);

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
  -- The order in which rows of a pipe were added, for databases whose rows have no number of their own.
  seq BIGINT NOT NULL DEFAULT 0,
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

CREATE TABLE chart_sources (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  service_id TEXT NOT NULL REFERENCES services (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  definition TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX chart_sources_organization ON chart_sources (organization_id, created_at);

-- The catalogue of backups. It outlives the services, and can be rebuilt from the manifests at the location.
CREATE TABLE backups (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  service_id TEXT NOT NULL,
  service_name TEXT NOT NULL,
  name TEXT NOT NULL,
  trigger TEXT NOT NULL,
  status TEXT NOT NULL,
  type TEXT NOT NULL,
  base_id TEXT,
  location TEXT NOT NULL,
  encrypted INTEGER NOT NULL,
  started_at TEXT NOT NULL,
  finished_at TEXT,
  size_bytes INTEGER NOT NULL DEFAULT 0,
  total_bytes INTEGER NOT NULL DEFAULT 0,
  error TEXT,
  verification TEXT NOT NULL DEFAULT 'pending',
  verified_at TEXT,
  deep_verified_at TEXT,
  problems TEXT NOT NULL DEFAULT '[]',
  check_wanted TEXT,
  check_wanted_at TEXT
);
CREATE INDEX backups_service ON backups (service_id, started_at);

-- Null means the default.
CREATE TABLE backup_configurations (
  service_id TEXT PRIMARY KEY,
  period_hours INTEGER,
  retention_hours INTEGER,
  start_time TEXT
);

CREATE TABLE restores (
  id TEXT PRIMARY KEY,
  backup_id TEXT NOT NULL,
  service_id TEXT NOT NULL REFERENCES services (id) ON DELETE CASCADE,
  scope TEXT NOT NULL,
  source_database TEXT,
  source_table TEXT,
  target_database TEXT,
  target_table TEXT,
  forced INTEGER NOT NULL,
  pipes TEXT NOT NULL,
  status TEXT NOT NULL,
  done_bytes INTEGER NOT NULL DEFAULT 0,
  total_bytes INTEGER NOT NULL DEFAULT 0,
  error TEXT,
  notes TEXT NOT NULL DEFAULT '[]',
  created_at TEXT NOT NULL,
  finished_at TEXT
);
CREATE INDEX restores_service ON restores (service_id, created_at);

-- Logins and refusals. Equal ones of an hour are one row; `merge_key` says which are equal. Rows beyond a number for each
-- organization and type are dropped, oldest first.
CREATE TABLE audit_events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  merge_key TEXT NOT NULL UNIQUE,
  organization_id TEXT NOT NULL,
  service_id TEXT,
  type TEXT NOT NULL,
  actor_type TEXT NOT NULL,
  actor TEXT NOT NULL,
  address TEXT NOT NULL,
  detail TEXT NOT NULL,
  count INTEGER NOT NULL,
  first_at TEXT NOT NULL,
  last_at TEXT NOT NULL
);
CREATE INDEX audit_events_of ON audit_events (organization_id, type, seq);

-- What pipes make at their sources (slots, publications, consumers, groups): written before it is made, and removed when
-- it is gone there. Without foreign keys to pipes and services: a row whose pipe is gone is what is left to be removed.
CREATE TABLE leftovers (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  service_id TEXT NOT NULL,
  pipe_id TEXT NOT NULL,
  pipe_name TEXT NOT NULL,
  source_kind TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  -- The configuration of the source, sealed; null when it could not be opened.
  config TEXT,
  created_at TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  last_error TEXT,
  -- Null: as soon as the pipe is gone.
  next_try_at TEXT,
  UNIQUE (pipe_id, kind, name)
);
CREATE INDEX leftovers_organization ON leftovers (organization_id, created_at);

-- What has last gone well and what has last gone wrong: kept apart from the state, because neither follows from it.
CREATE TABLE pipe_outcomes (
  pipe_id TEXT PRIMARY KEY REFERENCES pipes (id) ON DELETE CASCADE,
  last_success_at TEXT,
  last_error TEXT,
  last_error_at TEXT
);

-- Who did what, and which states services, pipes, backups and restores had. Rows outlive their objects. `seq` is their
-- order, and is never used twice.
CREATE TABLE activities (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  organization_id TEXT NOT NULL,
  type TEXT NOT NULL,
  created_at TEXT NOT NULL,
  -- Null: the system itself.
  actor_id TEXT,
  actor_name TEXT,
  actor_address TEXT,
  user_agent TEXT,
  request_id TEXT,
  service_id TEXT,
  object_type TEXT NOT NULL,
  object_id TEXT NOT NULL,
  object_name TEXT,
  reason TEXT,
  -- JSON: names of the members of the request, never their values.
  fields TEXT
);
CREATE INDEX activities_organization ON activities (organization_id, seq);
CREATE INDEX activities_created ON activities (created_at);

-- Sessions of browsers and one-time links to create them. Each acts as its API key and ends with it. Only SHA-256 digests
-- of the secrets are stored: the secrets are 32 random bytes.
CREATE TABLE console_sessions (
  id TEXT PRIMARY KEY,
  value_hash TEXT NOT NULL UNIQUE,
  key_id TEXT NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
  created_at TEXT NOT NULL,
  last_seen_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  user_agent TEXT NOT NULL
);
CREATE INDEX console_sessions_key ON console_sessions (key_id, last_seen_at);

CREATE TABLE console_links (
  token_hash TEXT PRIMARY KEY,
  key_id TEXT NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
  expires_at TEXT NOT NULL
);
CREATE INDEX console_links_key ON console_links (key_id, expires_at);

-- Queries, charts and dashboards that an organization shares, and drafts that belong to one key and go with it.
CREATE TABLE saved_objects (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  content TEXT NOT NULL,
  version INTEGER NOT NULL,
  -- Names of keys at the time: they remain when a key is gone.
  created_by TEXT NOT NULL,
  updated_by TEXT NOT NULL,
  -- The only key that sees the row; null: every key of the organization.
  private_to TEXT REFERENCES api_keys (id) ON DELETE CASCADE,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX saved_objects_organization ON saved_objects (organization_id, kind, name);
CREATE INDEX saved_objects_private ON saved_objects (private_to);

-- Requests to replay or discard refused rows: written by the API, carried out by a worker of the pipe.
CREATE TABLE pipe_error_requests (
  id TEXT PRIMARY KEY,
  pipe_id TEXT NOT NULL REFERENCES pipes (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  -- Which rows, as JSON.
  selection TEXT NOT NULL,
  -- Name of the API key.
  requested_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending',
  -- Number of rows that the request selects, frozen when it begins.
  selected_rows INTEGER,
  replayed_rows INTEGER,
  refused_rows INTEGER,
  reason TEXT,
  finished_at TEXT,
  seq BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX pipe_error_requests_pipe ON pipe_error_requests (pipe_id, created_at);
CREATE INDEX pipe_error_requests_state ON pipe_error_requests (state);

-- What pipes wrote lately: the newest batches of each pipe, written when a batch is confirmed.
CREATE TABLE pipe_batches (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  pipe_id TEXT NOT NULL REFERENCES pipes (id) ON DELETE CASCADE,
  batch_id TEXT NOT NULL,
  lane TEXT NOT NULL,
  rows INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  refused_rows INTEGER NOT NULL,
  replayed_rows INTEGER NOT NULL,
  started_at TEXT NOT NULL,
  finished_at TEXT NOT NULL
);
CREATE INDEX pipe_batches_pipe ON pipe_batches (pipe_id, seq);

-- Values that clients of the ClickHouse Cloud API set and expect to read again, although nothing here depends on them:
-- a JSON object of paths and values. They go with their service or pipe.
CREATE TABLE cloud_members (
  object_id TEXT PRIMARY KEY,
  service_id TEXT REFERENCES services (id) ON DELETE CASCADE,
  pipe_id TEXT REFERENCES pipes (id) ON DELETE CASCADE,
  members TEXT NOT NULL
);
CREATE INDEX cloud_members_service ON cloud_members (service_id);
CREATE INDEX cloud_members_pipe ON cloud_members (pipe_id);

-- Which keys may run statements at a service's query endpoint, and with which rights. The lists are JSON.
CREATE TABLE query_endpoints (
  service_id TEXT PRIMARY KEY REFERENCES services (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  roles TEXT NOT NULL,
  open_api_keys TEXT NOT NULL,
  allowed_origins TEXT NOT NULL
);

-- The size of a worker of each Postgres pipe of a service.
CREATE TABLE cdc_scaling (
  service_id TEXT PRIMARY KEY REFERENCES services (id) ON DELETE CASCADE,
  cpu_millicores INTEGER NOT NULL,
  memory_gb INTEGER NOT NULL
);

-- Moves of embedded services to external servers. `held_state` is the desired state of the service before the move
-- stopped it to switch. The password is sealed as that of the service itself.
CREATE TABLE service_moves (
  id TEXT PRIMARY KEY,
  service_id TEXT NOT NULL REFERENCES services (id) ON DELETE CASCADE,
  connection TEXT NOT NULL,
  connection_password TEXT NOT NULL,
  leave_behind INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL DEFAULT 'copying',
  message TEXT,
  cancel_requested INTEGER NOT NULL DEFAULT 0,
  held_state TEXT,
  old_service_id TEXT,
  total_rows INTEGER NOT NULL DEFAULT 0,
  total_bytes INTEGER NOT NULL DEFAULT 0,
  copied_rows INTEGER NOT NULL DEFAULT 0,
  copied_bytes INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  finished_at TEXT
);
CREATE UNIQUE INDEX service_moves_open ON service_moves (service_id) WHERE finished_at IS NULL;

-- What a move has made on the server: `statement` is the definition at the source, and `existed` is 1 for an empty
-- table that the server had before.
CREATE TABLE service_move_objects (
  move_id TEXT NOT NULL REFERENCES service_moves (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  database TEXT NOT NULL,
  name TEXT NOT NULL,
  statement TEXT NOT NULL,
  existed INTEGER NOT NULL DEFAULT 0,
  -- The order in which a move has made objects and begun parts, as in 200.
  seq BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (move_id, database, name)
);

-- The parts of the source that are on the server. The parts of a unit are inserted by one statement under one token;
-- `is_copied` is 0 until it has succeeded.
CREATE TABLE service_move_parts (
  move_id TEXT NOT NULL REFERENCES service_moves (id) ON DELETE CASCADE,
  database TEXT NOT NULL,
  name TEXT NOT NULL,
  partition_id TEXT NOT NULL,
  part TEXT NOT NULL,
  unit TEXT NOT NULL,
  rows INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  is_copied INTEGER NOT NULL DEFAULT 0,
  seq BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (move_id, database, name, part)
);

-- Who may write: times are the database's own, in ms since 1970. The fence grows with every holder.
CREATE TABLE leases (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  holder TEXT NOT NULL,
  fence BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (kind, id)
);
CREATE INDEX leases_holder ON leases (holder);

-- Pipes that may begin no batch, so that their positions and tables can be copied.
CREATE TABLE pipe_holds (
  hold_id TEXT NOT NULL,
  pipe_id TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (hold_id, pipe_id)
);
CREATE INDEX pipe_holds_pipe ON pipe_holds (pipe_id);

-- What a server checks at its start.
CREATE TABLE store_facts (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

-- Where alerts are told. `secrets` is sealed: URL, headers and query parameters.
CREATE TABLE webhooks (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  name TEXT NOT NULL,
  service TEXT NOT NULL,
  description TEXT,
  body TEXT,
  secrets TEXT NOT NULL,
  version INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE UNIQUE INDEX webhooks_name ON webhooks (organization_id, service, name);

-- `definition` and `is_enabled` are what is wanted, all else is observed. `notified_state` is the state that was told
-- last, and `evaluated_version` the version of the last evaluation.
CREATE TABLE alerts (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  document_id TEXT NOT NULL REFERENCES saved_objects (id) ON DELETE CASCADE,
  webhook_id TEXT NOT NULL REFERENCES webhooks (id),
  definition TEXT NOT NULL,
  is_enabled INTEGER NOT NULL,
  state TEXT NOT NULL,
  state_message TEXT,
  state_changed_at TEXT NOT NULL,
  notified_state TEXT NOT NULL,
  firing_windows INTEGER NOT NULL DEFAULT 0,
  evaluated_until TEXT,
  evaluated_version INTEGER,
  errors TEXT NOT NULL,
  version INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX alerts_organization ON alerts (organization_id, created_at);
CREATE INDEX alerts_document ON alerts (document_id);
CREATE INDEX alerts_webhook ON alerts (webhook_id);

-- What an alert found in each window. `readings` is JSON.
CREATE TABLE alert_evaluations (
  alert_id TEXT NOT NULL REFERENCES alerts (id) ON DELETE CASCADE,
  window_end TEXT NOT NULL,
  window_start TEXT NOT NULL,
  state TEXT NOT NULL,
  message TEXT,
  readings TEXT NOT NULL,
  evaluated_at TEXT NOT NULL,
  PRIMARY KEY (alert_id, window_end)
);

-- Changes of state that a webhook has not confirmed yet, one row for each change; `position` is their order.
CREATE TABLE alert_notifications (
  id TEXT PRIMARY KEY,
  alert_id TEXT NOT NULL REFERENCES alerts (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  event TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_attempt_at TEXT NOT NULL,
  created_at TEXT NOT NULL
);
CREATE UNIQUE INDEX alert_notifications_order ON alert_notifications (alert_id, position);

CREATE TABLE service_roles (
  service_id TEXT NOT NULL REFERENCES services (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  rights TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (service_id, name)
);

-- Processes that share the database. Times are the database's own, in ms since 1970.
CREATE TABLE nodes (
  id TEXT PRIMARY KEY,
  role TEXT NOT NULL,
  address TEXT,
  version TEXT NOT NULL,
  -- Pipes of external services that it runs at most, null without a limit.
  slots BIGINT,
  -- Grows with every process that takes over the data directory.
  fence BIGINT NOT NULL,
  started_at TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  -- Where the gateways of the other servers pass on requests for the embedded services of this one, as host:port.
  relay TEXT,
  -- Which pipes a process takes, of those that several can run: kinds of sources, separated by commas, and `own` or
  -- `shared` for those with and without limits of their own. Null: all.
  pipe_kinds TEXT,
  pipe_sizes TEXT
);

-- What processes say about the pipes that they run, for the other processes. Gauges are JSON.
CREATE TABLE pipe_reports (
  pipe_id TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  workers BIGINT NOT NULL,
  gauges TEXT NOT NULL,
  warning TEXT
);
CREATE INDEX pipe_reports_holder ON pipe_reports (holder);
