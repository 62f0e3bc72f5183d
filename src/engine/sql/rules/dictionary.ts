/** `SOURCE(CLICKHOUSE(...))` of a dictionary: a table or a query of this service, never another server. */
import { internalUser } from "../../chdb/users.ts";
import { isName } from "../text/scan.ts";
import type { SqlToken } from "../text/tokens.ts";
import type { Facts } from "./facts.ts";
import { refuse } from "./refusal.ts";
import { isCurrentDatabase, refuseFilePath } from "./table-names.ts";

const names = new Set(["DB", "TABLE", "USER", "PASSWORD", "UPDATE_LAG"]);

/** Throws for a key that names a server; texts that the engine runs as statements are added to `facts.nested`. */
export function judgeClickHouseSource(tokens: readonly SqlToken[], pairs: Int32Array, at: number, facts: Facts): void {
  const close = pairs[at + 1] as number;
  for (let i = at + 2; i < close; i += 2) {
    const key = tokens[i];
    const value = tokens[i + 1];
    if (isName(key) && key.value.toUpperCase() === "DB" && isCurrentDatabase(tokens, i + 1, i + 4)) {
      i += 2;
      continue;
    }
    const literal = value?.kind === "string" || value?.kind === "number" || isName(value);
    if (!isName(key) || !literal || i + 1 >= close) refuse("The source of a dictionary must hold keys and literals.");
    judgeKey(key.value.toUpperCase(), value.value, facts);
  }
}

function judgeKey(key: string, value: string, facts: Facts): void {
  if (key === "USER" && value === internalUser) refuse(`User ${value} is not available.`);
  if (key === "TABLE") refuseFilePath(value);
  if (names.has(key)) return;
  if (key === "QUERY" || key === "INVALIDATE_QUERY") facts.nested.push(value);
  // The engine inserts these two into its query unescaped.
  else if (key === "WHERE") facts.nested.push(`SELECT 1 FROM t WHERE ${value}`);
  else if (key === "UPDATE_FIELD") {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(value)) refuse("UPDATE_FIELD of a dictionary must be the name of a column.");
  } else if (/^(?:HOST|PORT|SECURE|NAME|REPLICA)$/.test(key)) {
    refuse("The source of a dictionary must be a table or a query of this service.");
  } else refuse(`Key ${key} is not available in the source of a dictionary.`);
}
