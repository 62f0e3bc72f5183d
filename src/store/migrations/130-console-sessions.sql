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
