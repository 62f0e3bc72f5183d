-- The order in which rows of a pipe were added, for databases whose rows have no number of their own.
ALTER TABLE pipe_intents ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;
ALTER TABLE pipe_error_requests ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;
