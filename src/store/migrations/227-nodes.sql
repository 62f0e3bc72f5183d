-- breaking: versions before it know no leases of pipes, and would run the pipes of others.
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
  expires_at BIGINT NOT NULL
);
CREATE INDEX leases_holder ON leases (holder);
-- The node whose data directory contains the engine's data, null for an external service.
ALTER TABLE services ADD COLUMN node_id TEXT;
UPDATE services SET node_id = (SELECT holder FROM leases WHERE kind = 'singleton' AND id = 'server')
  WHERE runtime = 'embedded';
-- A server of an earlier version, which knows no other lease than this one, can write no more.
DELETE FROM leases WHERE kind = 'singleton' AND id = 'server';
