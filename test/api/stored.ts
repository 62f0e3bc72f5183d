/** What an API has stored, to see that a request changed nothing. */
import type { Api } from "./harness.ts";

/** Every row of every table, without the log of refusals and the times at which credentials were used. */
export async function storedRows(api: Api): Promise<string> {
  const names = await api.db.all<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
  const contents = names
    .filter(({ name }) => name !== "audit_events" && !name.startsWith("sqlite_"))
    .map(async ({ name }) => [name, await api.db.all(`SELECT * FROM "${name}"`)]);
  const moments = new Set(["used_at", "last_seen_at", "seen_at"]);
  return JSON.stringify(await Promise.all(contents), (name, value) => (moments.has(name) ? undefined : value));
}
