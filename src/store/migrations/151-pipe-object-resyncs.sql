-- Objects, as JSON, that a pipe loads once more beside those that it has not loaded yet.
ALTER TABLE pipes ADD COLUMN resync_objects TEXT;
