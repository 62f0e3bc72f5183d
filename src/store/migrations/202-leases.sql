-- Who may write: times are the database's own, in ms since 1970. The fence grows with every holder.
CREATE TABLE leases (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  holder TEXT NOT NULL,
  fence BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (kind, id)
);

-- Pipes that may begin no batch, so that their positions and tables can be copied.
CREATE TABLE pipe_holds (
  hold_id TEXT NOT NULL,
  pipe_id TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (hold_id, pipe_id)
);
CREATE INDEX pipe_holds_pipe ON pipe_holds (pipe_id);
