UPDATE pipe_intents SET seq = rowid;
UPDATE pipe_error_requests SET seq = rowid;
