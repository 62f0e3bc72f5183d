-- A rename changes the version of a pipe, and no definition that a worker runs: version = generation + renames.
ALTER TABLE pipes ADD COLUMN renames INTEGER NOT NULL DEFAULT 0;
