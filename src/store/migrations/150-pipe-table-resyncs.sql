-- Destination tables, as JSON, that a pipe with several tables copies anew while the others go on.
ALTER TABLE pipes ADD COLUMN resync_tables TEXT;
