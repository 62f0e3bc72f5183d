/** GRANT and REVOKE statements of the engine's users file. */
import type { AccessRights, Grant, NamePattern } from "../../clickhouse/access-change.ts";

/** The statements in the order in which the engine must apply them. */
export function grantStatements({ grants, roles }: AccessRights): string[] {
  const granted = grants.map(statementOf);
  return roles.length === 0 ? granted : [...granted, `GRANT ${roles.map(quoted).join(", ")}`];
}

function statementOf({ privilege, columns, database, table, object, revoked }: Grant): string {
  const what = columns === undefined ? privilege : `${privilege}(${columns.map(quoted).join(", ")})`;
  const on = object === undefined ? `${patternOf(database)}.${patternOf(table)}` : quoted(object);
  return `${revoked === true ? "REVOKE" : "GRANT"} ${what} ON ${on}`;
}

function patternOf(pattern: NamePattern | undefined): string {
  if (pattern === undefined) return "*";
  return pattern.prefix === true ? `${quoted(pattern.name)}*` : quoted(pattern.name);
}

function quoted(name: string): string {
  return `\`${name.replace(/[\\`]/g, "\\$&")}\``;
}
