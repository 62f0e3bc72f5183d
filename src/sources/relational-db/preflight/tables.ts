/** Pre-flight checks of the mapped tables: they exist, can be read, and their changes can be told apart. */
import type { Issue } from "../../../lib/errors.ts";
import type { SourceTable } from "../declaration/durable.ts";
import type { RelationalDbConfig } from "../declaration/kind.ts";
import { replicatedColumns } from "../server/catalog.ts";
import { quoteName } from "../server/session.ts";
import { followsLog, issue, type Preflight, tableKey } from "./issues.ts";

type Mapping = RelationalDbConfig["tableMappings"][number];

export type SourceTableFacts = {
  readonly oid: number;
  /** The user may look into the schema. */
  readonly usage: boolean;
  /** Columns the user may not read. */
  readonly unreadable: readonly string[];
  /** Row security hides rows from the user. */
  readonly rowSecurity: boolean;
  /** The user has the rights of the owner. */
  readonly owned: boolean;
  /** The primary key is DEFERRABLE: Postgres then does not use it as the identity of a row. */
  readonly deferrable: boolean;
  /** `p` permanent, `u` unlogged, `t` temporary. */
  readonly persistence: string;
  /** Partitions without a replica identity, whose old rows are not in the log. */
  readonly nameless: readonly string[];
  /** Partitions without REPLICA IDENTITY FULL. */
  readonly notFull: readonly string[];
};

const factsSql = `
  SELECT c.oid::int8::float8 AS oid,
    pg_catalog.has_schema_privilege(c.relnamespace, 'USAGE') AS usage,
    ARRAY(
      SELECT a.attname::text FROM pg_catalog.pg_attribute a
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        AND NOT pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')
      ORDER BY a.attnum
    ) AS unreadable,
    pg_catalog.row_security_active(c.oid) AS "rowSecurity",
    pg_catalog.pg_has_role(c.relowner, 'USAGE') AS owned,
    EXISTS (
      SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND NOT i.indimmediate
    ) AS deferrable,
    c.relpersistence::text AS persistence,
    ARRAY(
      SELECT l.oid::regclass::text FROM leaves l
      WHERE l.root = c.oid AND (l.relreplident = 'n' OR l.relreplident = 'd' AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = l.oid AND i.indisprimary))
    ) AS nameless,
    ARRAY(SELECT l.oid::regclass::text FROM leaves l WHERE l.root = c.oid AND l.relreplident <> 'f') AS "notFull"
  FROM pg_catalog.pg_class c
  WHERE c.oid = ANY ($1::oid[])`;

const leavesSql = `
  WITH leaves AS (
    SELECT r.oid AS root, p.oid, p.relreplident
    FROM pg_catalog.pg_class r
    CROSS JOIN LATERAL pg_catalog.pg_partition_tree(r.oid) t
    JOIN pg_catalog.pg_class p ON p.oid = t.relid
    WHERE r.oid = ANY ($1::oid[]) AND r.relkind = 'p' AND t.isleaf AND p.relkind <> 'p'
  )`;

/** Rights and properties of the mapped tables, by oid. */
export async function readTableFacts({ client, tables }: Preflight): Promise<ReadonlyMap<number, SourceTableFacts>> {
  const oids = [...tables.values()].map(({ oid }) => oid);
  const { rows } = await client.query<SourceTableFacts>(leavesSql + factsSql, [oids]);
  return new Map(rows.map((row) => [row.oid, row]));
}

/** Everything that is wrong with the mappings and their tables. */
export function tableIssues(parts: Preflight, facts: ReadonlyMap<number, SourceTableFacts>): Issue[] {
  const issues: Issue[] = [];
  const seen = new Set<string>();
  for (const [index, mapping] of parts.config.tableMappings.entries()) {
    const key = tableKey(mapping.sourceSchemaName, mapping.sourceTable);
    const add = (member: string, message: string) => issues.push(issue(`tableMappings.${index}.${member}`, message));
    if (seen.has(key)) add("sourceTable", `${shownName(mapping)} is mapped twice`);
    seen.add(key);
    const table = parts.tables.get(key);
    const known = table === undefined ? undefined : facts.get(table.oid);
    if (table === undefined || known === undefined) {
      add("sourceTable", `table ${shownName(mapping)} does not exist in database "${parts.config.database}"`);
      continue;
    }
    const wrong = kindProblem(table, known, parts);
    if (wrong !== undefined) {
      add("sourceTable", wrong);
      continue;
    }
    for (const problem of rightProblems(table, known, mapping, parts)) add("sourceTable", problem);
    if (followsLog(parts.config)) {
      const identity = identityProblem(table, known);
      if (identity !== undefined) add("sourceTable", identity);
    }
    for (const [member, message] of columnProblems(table, mapping)) add(member, message);
    for (const [member, message] of sortingProblems(table, mapping, followsLog(parts.config))) add(member, message);
  }
  return issues;
}

const kinds: Readonly<Record<string, string>> = {
  v: "a view",
  m: "a materialized view",
  f: "a foreign table",
  S: "a sequence",
  i: "an index",
  I: "an index",
  c: "a composite type",
};

function kindProblem(table: SourceTable, facts: SourceTableFacts, { config }: Preflight): string | undefined {
  const name = shownTable(table);
  if (!["r", "p"].includes(table.relkind)) {
    return `${name} is ${kinds[table.relkind] ?? "no table"}; only tables can be replicated`;
  }
  if (facts.persistence === "p" || !followsLog(config)) return undefined;
  const word = facts.persistence === "u" ? "unlogged" : "temporary";
  const remedy = facts.persistence === "u" ? `: ALTER TABLE ${name} SET LOGGED` : "";
  return `${name} is ${word}, and its changes are not in the log${remedy}`;
}

function rightProblems(table: SourceTable, facts: SourceTableFacts, mapping: Mapping, { server }: Preflight): string[] {
  const problems: string[] = [];
  const user = quoteName(server.user);
  if (!facts.usage) {
    problems.push(`user ${user} may not use the schema: GRANT USAGE ON SCHEMA ${quoteName(table.schema)} TO ${user}`);
  }
  const wanted = replicatedColumns(table, mapping.excludedColumns);
  const hidden = wanted.filter(({ name }) => facts.unreadable.includes(name)).map(({ name }) => name);
  if (hidden.length > 0) {
    const what = hidden.length === wanted.length ? "the table" : `the columns ${hidden.join(", ")}`;
    problems.push(`user ${user} may not read ${what}: GRANT SELECT ON ${shownTable(table)} TO ${user}`);
  }
  if (facts.rowSecurity) {
    problems.push(`row security hides rows of ${shownTable(table)} from ${user}: ALTER ROLE ${user} BYPASSRLS`);
  }
  return problems;
}

/** Updates and deletes can only be followed when the log says which row they meant. */
function identityProblem(table: SourceTable, facts: SourceTableFacts): string | undefined {
  const name = shownTable(table);
  const full = `ALTER TABLE ${name} REPLICA IDENTITY FULL`;
  if (table.replicaIdentity === "n") {
    const back = table.key.length > 0 ? `ALTER TABLE ${name} REPLICA IDENTITY DEFAULT` : full;
    return `${name} has REPLICA IDENTITY NOTHING, so updates and deletes are not told: ${back}`;
  }
  if (table.key.length === 0 && table.replicaIdentity !== "f") {
    return `${name} has no primary key: add one, or ${full}`;
  }
  if (table.replicaIdentity === "d" && facts.deferrable) {
    return `the primary key of ${name} is deferrable, so the log does not tell it: make it NOT DEFERRABLE, or ${full}`;
  }
  const partitions = table.key.length === 0 ? facts.notFull : facts.nameless;
  if (partitions.length === 0) return undefined;
  const what = table.key.length === 0 ? "REPLICA IDENTITY FULL" : "a primary key or REPLICA IDENTITY FULL";
  return `partitions of ${name} lack ${what} of their own: ${partitions.slice(0, 5).join(", ")}`;
}

function columnProblems(table: SourceTable, mapping: Mapping): [member: string, message: string][] {
  const problems: [string, string][] = [];
  const columns = new Map(table.columns.map((column) => [column.name, column]));
  const excluded = mapping.excludedColumns ?? [];
  const sorting = mapping.useCustomSortingKey === true ? (mapping.sortingKeys ?? []) : [];
  for (const [at, name] of excluded.entries()) {
    const member = `excludedColumns.${at}`;
    if (!columns.has(name)) problems.push([member, `${shownTable(table)} has no column "${name}"`]);
    else if (table.key.includes(name)) problems.push([member, `"${name}" is part of the key and cannot be left out`]);
    else if (sorting.includes(name)) problems.push([member, `"${name}" is a sorting key and cannot be left out`]);
  }
  const generatedKey = table.columns.find(({ name, generated }) => generated && table.key.includes(name));
  if (generatedKey !== undefined) {
    const message = `the key column "${generatedKey.name}" is generated, and such columns are not in the log`;
    problems.push(["sourceTable", message]);
  }
  if (problems.length === 0 && replicatedColumns(table, excluded).length === 0)
    problems.push(["excludedColumns", "no column is left"]);
  return problems;
}

function sortingProblems(table: SourceTable, mapping: Mapping, follows: boolean): [member: string, message: string][] {
  if (mapping.useCustomSortingKey !== true) return [];
  const problems: [string, string][] = [];
  const columns = new Map(table.columns.map((column) => [column.name, column]));
  const names = mapping.sortingKeys ?? [];
  for (const [at, name] of names.entries()) {
    const add = (message: string) => problems.push([`sortingKeys.${at}`, message]);
    const column = columns.get(name);
    if (names.indexOf(name) !== at) add(`"${name}" is named twice`);
    else if (column === undefined) add(`${shownTable(table)} has no column "${name}"`);
    else if (column.generated) add(`"${name}" is generated, and such columns are not replicated`);
    else if (follows && table.replicaIdentity !== "f" && !table.key.includes(name)) {
      // An update that changes the row's sorting key would not remove the old row.
      const full = `ALTER TABLE ${shownTable(table)} REPLICA IDENTITY FULL`;
      add(`"${name}" is not part of the key, so the log does not contain its old value: ${full}`);
    }
  }
  return problems;
}

export function shownTable({ schema, name }: { readonly schema: string; readonly name: string }): string {
  return `${quoteName(schema)}.${quoteName(name)}`;
}

function shownName({ sourceSchemaName, sourceTable }: Mapping): string {
  return shownTable({ schema: sourceSchemaName, name: sourceTable });
}
