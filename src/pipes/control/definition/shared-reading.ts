/** The setting by which shards share the reading of a batch, which no pipe can use. */
import { badRequest } from "../../../lib/errors.ts";

/** Throws BAD_REQUEST for a pipe into a cluster. On one server the setting has no effect. */
export function refuseSharedReading({
  database_parallel_distributed_insert_select: value = 0,
}: Readonly<Record<string, unknown>> = {}): void {
  if (Number(value) === 0) return;
  const path = "settings.database_parallel_distributed_insert_select";
  const message =
    "must be 0 on a cluster: servers that share the reading of a batch cut it into other blocks at each attempt, and a " +
    "repeated batch would be written twice. Shards are written in parallel without it";
  throw badRequest(path, message);
}
