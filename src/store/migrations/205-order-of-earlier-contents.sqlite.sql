UPDATE service_move_objects SET seq = rowid;
UPDATE service_move_parts SET seq = rowid;
