-- The order in which a move has made objects and begun parts, as in 200.
ALTER TABLE service_move_objects ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;
ALTER TABLE service_move_parts ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;
