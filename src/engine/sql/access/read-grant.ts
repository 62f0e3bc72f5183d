/** Reads GRANT and REVOKE, of privileges and of roles. */
import type { AccessChange, NamePattern, PrivilegeOn } from "../../../clickhouse/access-change.ts";
import { ownDatabases } from "../../../clickhouse/names.ts";
import { refuse } from "../rules/refusal.ts";
import { objectPrivileges, privilegeLevels, readingPrivileges } from "./privileges.ts";
import type { TokenReader } from "./token-reader.ts";

type Verb = "GRANT" | "REVOKE";
type Names = { readonly roles: readonly string[] } | { readonly privileges: readonly PrivilegeOn[] } | "all";

/** Reads what follows GRANT or REVOKE. */
export function readGrant(reader: TokenReader, verb: Verb): AccessChange {
  for (const clause of ["ON CLUSTER", "GRANT OPTION FOR", "ADMIN OPTION FOR", "CURRENT GRANTS"]) {
    if (reader.skip(clause)) refuse(`${verb} ${clause} is not available.`);
  }
  const what = readWhat(reader, verb);
  if (!reader.skip(verb === "GRANT" ? "TO" : "FROM")) reader.unavailable();
  const names = reader.names();
  if (what === "all") return { type: "revoke all", names };
  if ("roles" in what) return { type: verb === "GRANT" ? "grant roles" : "revoke roles", roles: what.roles, names };
  return { type: verb === "GRANT" ? "grant" : "revoke", privileges: what.privileges, names };
}

type Wanted = { readonly privilege: string; readonly columns?: readonly string[] };

/** Roles have no ON. */
function readWhat(reader: TokenReader, verb: Verb): Names {
  const privileges: PrivilegeOn[] = [];
  const names: Wanted[] = [];
  for (;;) {
    names.push(readWanted(reader));
    if (reader.skipMark(",")) continue;
    if (!reader.skip("ON")) break;
    const target = readTarget(reader);
    const isAll = names.length === 1 && names[0]?.privilege === "ALL" && verb === "REVOKE";
    if (isAll && Object.keys(target).length === 0 && privileges.length === 0) return "all";
    for (const wanted of names.splice(0)) privileges.push(checked({ ...wanted, ...target }));
    if (!reader.skipMark(",")) return { privileges };
  }
  if (privileges.length > 0 || names.some(({ columns }) => columns !== undefined)) reader.unavailable();
  return { roles: names.map(({ privilege }) => privilege) };
}

/** The words of a privilege, or the name of a role; with the columns in parentheses. */
function readWanted(reader: TokenReader): Wanted {
  const words: string[] = [];
  for (let word = wordOf(reader); word !== undefined; word = wordOf(reader)) words.push(word);
  const privilege = words.length === 0 ? reader.name("the name of the role") : words.join(" ");
  if (!reader.skipMark("(")) return { privilege };
  const columns: string[] = [];
  do columns.push(reader.name("the name of the column"));
  while (reader.skipMark(","));
  if (!reader.skipMark(")")) reader.unavailable();
  return { privilege, columns };
}

/** The next word of a privilege; the clause after it begins with one of three. */
function wordOf(reader: TokenReader): string | undefined {
  return reader.isAt("ON") || reader.isAt("TO") || reader.isAt("FROM") ? undefined : reader.word();
}

type Target = Pick<PrivilegeOn, "database" | "table" | "object">;

/** `*.*`, `db.*`, `db.table`, `prefix*.*`, `db.prefix*`, or the name of a source or engine. */
function readTarget(reader: TokenReader): Target {
  const database = readPattern(reader, "the name of the database");
  if (!reader.skipMark(".")) {
    return { object: database === undefined ? "*" : `${database.name}${database.prefix === true ? "*" : ""}` };
  }
  const table = readPattern(reader, "the name of the table");
  if (database === undefined && table !== undefined) refuse("A grant on a table names its database.");
  return { ...(database === undefined ? {} : { database }), ...(table === undefined ? {} : { table }) };
}

function readPattern(reader: TokenReader, what: string): NamePattern | undefined {
  if (reader.skipMark("*")) return undefined;
  const name = reader.name(what);
  return reader.isAdjacent && reader.skipMark("*") ? { name, prefix: true } : { name };
}

/** Throws when the privilege is not available, or not on this object. */
function checked(grant: PrivilegeOn): PrivilegeOn {
  const { privilege, columns, database, table, object } = grant;
  const objects = objectPrivileges.get(privilege);
  if (objects !== undefined) {
    if (object === undefined || !objects.has(object)) {
      refuse(`Privilege ${privilege} is available on ${[...objects].sort().join(", ")}.`);
    }
    return grant;
  }
  const level = privilegeLevels.get(privilege);
  if (level === undefined)
    refuse(`Privilege ${privilege} is not available in this service; docs/sql-users.md lists them.`);
  if (object !== undefined) refuse("Name the database: `database.*`, `database.table` or `*.*`.");
  const isTooNarrow =
    (columns !== undefined && level !== "column") ||
    (table !== undefined && (level === "database" || level === "global")) ||
    (database !== undefined && level === "global");
  if (isTooNarrow) refuse(`Privilege ${privilege} is for ${objectOf(level)}.`);
  if (database !== undefined && ownDatabases.includes(database.name) && !readingPrivileges.has(privilege)) {
    refuse(`Privilege ${privilege} is not available on the database ${database.name}, which can only be read.`);
  }
  return grant;
}

function objectOf(level: "global" | "database" | "table" | "column"): string {
  if (level === "global") return "the whole service: ON *.*";
  return level === "database" ? "whole databases: ON database.*" : "whole tables";
}
