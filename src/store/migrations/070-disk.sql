-- What a service may use of the disk, in GiB, or null; and what its engine has said last.
ALTER TABLE services ADD COLUMN disk_gb INTEGER;
ALTER TABLE services ADD COLUMN disk_used_bytes INTEGER;
