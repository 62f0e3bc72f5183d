-- Requests to replay or discard refused rows: written by the API, carried out by a worker of the pipe.
CREATE TABLE pipe_error_requests (
  id TEXT PRIMARY KEY,
  pipe_id TEXT NOT NULL REFERENCES pipes (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  -- Which rows, as JSON.
  selection TEXT NOT NULL,
  -- Name of the API key.
  requested_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending',
  -- Number of rows that the request selects, frozen when it begins.
  selected_rows INTEGER,
  replayed_rows INTEGER,
  refused_rows INTEGER,
  reason TEXT,
  finished_at TEXT
);
CREATE INDEX pipe_error_requests_pipe ON pipe_error_requests (pipe_id, created_at);
CREATE INDEX pipe_error_requests_state ON pipe_error_requests (state);
