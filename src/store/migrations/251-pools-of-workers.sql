-- Which pipes a process takes, of those that several can run: kinds of sources, separated by commas, and `own` or
-- `shared` for those with and without limits of their own. Null: all.
ALTER TABLE nodes ADD COLUMN pipe_kinds TEXT;
ALTER TABLE nodes ADD COLUMN pipe_sizes TEXT;
