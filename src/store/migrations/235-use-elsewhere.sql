-- When a process that does not write the service's state has last passed on a query of it.
ALTER TABLE services ADD COLUMN used_elsewhere_at TEXT;
