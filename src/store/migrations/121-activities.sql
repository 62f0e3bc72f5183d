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
