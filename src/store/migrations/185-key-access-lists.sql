-- The addresses from which a key is accepted, as the JSON list of the API; null: from anywhere.
ALTER TABLE api_keys ADD COLUMN ip_access_list TEXT;
