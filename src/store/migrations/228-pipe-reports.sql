-- What processes say about the pipes that they run, for the other processes. Gauges are JSON.
CREATE TABLE pipe_reports (
  pipe_id TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  workers BIGINT NOT NULL,
  gauges TEXT NOT NULL,
  warning TEXT
);
CREATE INDEX pipe_reports_holder ON pipe_reports (holder);
