-- A service whose server is not ours has the runtime `external`: how it is reached is in `connection`, as JSON, and its
-- password sealed beside it.
ALTER TABLE services ADD COLUMN runtime TEXT NOT NULL DEFAULT 'embedded';
ALTER TABLE services ADD COLUMN connection TEXT;
ALTER TABLE services ADD COLUMN connection_password TEXT;
