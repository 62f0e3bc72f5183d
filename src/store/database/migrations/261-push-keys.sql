-- The pipe to which a key of the role push sends rows, and how much per second; null: no limit.
ALTER TABLE api_keys ADD COLUMN pipe_id TEXT;
ALTER TABLE api_keys ADD COLUMN push_rows_per_second BIGINT;
ALTER TABLE api_keys ADD COLUMN push_bytes_per_second BIGINT;
