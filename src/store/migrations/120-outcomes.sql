-- Since when the state is what it is; null: since before this was recorded.
ALTER TABLE pipes ADD COLUMN state_changed_at TEXT;
ALTER TABLE services ADD COLUMN state_changed_at TEXT;
-- Rows of the service's tables, as its engine has said last; null: never.
ALTER TABLE services ADD COLUMN table_rows INTEGER;
-- What has last gone well and what has last gone wrong: kept apart from the state, because neither follows from it.
CREATE TABLE pipe_outcomes (
  pipe_id TEXT PRIMARY KEY REFERENCES pipes (id) ON DELETE CASCADE,
  last_success_at TEXT,
  last_error TEXT,
  last_error_at TEXT
);
-- Pipes of a service are counted by state in every list of services: from the index alone.
CREATE INDEX pipes_states ON pipes (service_id, desired_state, state);
