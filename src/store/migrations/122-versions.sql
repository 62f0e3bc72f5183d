-- Raised by every change that is requested, so that a request can name the version that it means to change. Pipes have
-- `generation`.
ALTER TABLE services ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE api_keys ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE access_tokens ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE chart_sources ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
