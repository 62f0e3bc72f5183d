-- How the hosts of a service in Kubernetes are reached, as JSON of the same form as `connection`: its cluster has
-- reported them, and processes without access to the cluster connect with them.
ALTER TABLE services ADD COLUMN managed_connection TEXT;
