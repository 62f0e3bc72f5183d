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
