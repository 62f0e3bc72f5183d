-- Moves of embedded services to external servers. `held_state` is the desired state of the service before the move
-- stopped it to switch. The password is sealed as that of the service itself.
CREATE TABLE service_moves (
  id TEXT PRIMARY KEY,
  service_id TEXT NOT NULL REFERENCES services (id) ON DELETE CASCADE,
  connection TEXT NOT NULL,
  connection_password TEXT NOT NULL,
  leave_behind INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL DEFAULT 'copying',
  message TEXT,
  cancel_requested INTEGER NOT NULL DEFAULT 0,
  held_state TEXT,
  old_service_id TEXT,
  total_rows INTEGER NOT NULL DEFAULT 0,
  total_bytes INTEGER NOT NULL DEFAULT 0,
  copied_rows INTEGER NOT NULL DEFAULT 0,
  copied_bytes INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  finished_at TEXT
);
CREATE UNIQUE INDEX service_moves_open ON service_moves (service_id) WHERE finished_at IS NULL;

-- What a move has made on the server: `statement` is the definition at the source, and `existed` is 1 for an empty
-- table that the server had before.
CREATE TABLE service_move_objects (
  move_id TEXT NOT NULL REFERENCES service_moves (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  database TEXT NOT NULL,
  name TEXT NOT NULL,
  statement TEXT NOT NULL,
  existed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (move_id, database, name)
);

-- The parts of the source that are on the server. The parts of a unit are inserted by one statement under one token;
-- `is_copied` is 0 until it has succeeded.
CREATE TABLE service_move_parts (
  move_id TEXT NOT NULL REFERENCES service_moves (id) ON DELETE CASCADE,
  database TEXT NOT NULL,
  name TEXT NOT NULL,
  partition_id TEXT NOT NULL,
  part TEXT NOT NULL,
  unit TEXT NOT NULL,
  rows INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  is_copied INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (move_id, database, name, part)
);
