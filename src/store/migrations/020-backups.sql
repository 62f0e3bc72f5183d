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
