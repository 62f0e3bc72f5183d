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
