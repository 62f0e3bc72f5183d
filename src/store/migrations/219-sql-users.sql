-- Users and roles that statements have made within a service. The rights are JSON: grants in their order, and roles.
-- A user without them was made by the management API, and has the rights of all such users.
ALTER TABLE service_users ADD COLUMN rights TEXT;
CREATE TABLE service_roles (
  service_id TEXT NOT NULL REFERENCES services (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  rights TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (service_id, name)
);
