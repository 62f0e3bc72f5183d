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
