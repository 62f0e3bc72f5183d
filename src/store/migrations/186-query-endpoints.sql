-- Which keys may run statements at a service's query endpoint, and with which rights. The lists are JSON.
CREATE TABLE query_endpoints (
  service_id TEXT PRIMARY KEY REFERENCES services (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  roles TEXT NOT NULL,
  open_api_keys TEXT NOT NULL,
  allowed_origins TEXT NOT NULL
);
