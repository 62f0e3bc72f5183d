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
