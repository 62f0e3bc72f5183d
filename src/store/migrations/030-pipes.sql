-- Asked for by the `resync` command; the pipes supervisor starts the pipe over when its workers have ended.
ALTER TABLE pipes ADD COLUMN resync_requested INTEGER NOT NULL DEFAULT 0;
