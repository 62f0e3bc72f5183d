-- The port of a service's native protocol; null until the gateway has chosen one.
ALTER TABLE services ADD COLUMN native_port INTEGER;
