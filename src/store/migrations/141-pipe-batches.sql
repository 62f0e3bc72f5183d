-- What pipes wrote lately: the newest batches of each pipe, written when a batch is confirmed.
CREATE TABLE pipe_batches (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  pipe_id TEXT NOT NULL REFERENCES pipes (id) ON DELETE CASCADE,
  batch_id TEXT NOT NULL,
  lane TEXT NOT NULL,
  rows INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  refused_rows INTEGER NOT NULL,
  replayed_rows INTEGER NOT NULL,
  started_at TEXT NOT NULL,
  finished_at TEXT NOT NULL
);
CREATE INDEX pipe_batches_pipe ON pipe_batches (pipe_id, seq);
