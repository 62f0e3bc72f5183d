/** Commands of the server's own program, and what each does. `millrace COMMAND --help` has its options. */
export const serverCommands = {
  serve: "Runs the server: the API, the services and the pipes",
  worker:
    "Runs pipes of external services and of services in Kubernetes, beside servers on the same Postgres database or alone",
  demo: "Runs the main workflow on real data, in a folder of its own that is removed afterwards",
  "restore-metadata": "Restores metadata and services from the backup location into an empty --data-dir",
  "adopt-backups": "Assigns backups of unknown organizations to one of this installation; the server must be stopped",
  "move-store": "Moves the metadata from the data directory to Postgres, or back; the server must be stopped",
};
