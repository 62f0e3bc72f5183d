-- fetchedRows = sentRows + refusedRows + skippedRows, also for pipes of versions that did not count all of them.
INSERT INTO pipe_counters (pipe_id, name, value)
SELECT f.pipe_id, 'refusedRows', max(f.value - coalesce(s.value, 0), 0)
FROM pipe_counters f LEFT JOIN pipe_counters s ON s.pipe_id = f.pipe_id AND s.name = 'sentRows'
WHERE f.name = 'fetchedRows';

UPDATE pipe_counters SET value = max(value, coalesce(
  (SELECT s.value FROM pipe_counters s WHERE s.pipe_id = pipe_counters.pipe_id AND s.name = 'sentRows'), 0))
WHERE name = 'fetchedRows';
