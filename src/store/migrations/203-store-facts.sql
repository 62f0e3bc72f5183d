-- What a server checks at its start.
CREATE TABLE store_facts (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);
