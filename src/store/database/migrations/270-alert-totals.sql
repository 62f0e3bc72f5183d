-- Counters as of the last evaluation of an alert, in JSON: the next evaluation tells what has been added.
ALTER TABLE alerts ADD COLUMN totals TEXT;
