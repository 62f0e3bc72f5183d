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
