/** Pre-flight checks of the publication and the slot: the ones that are given, and the right to make our own. */
import type { Issue } from "../../../lib/errors.ts";
import { replicatedColumns } from "../server/catalog.ts";
import { type PublishedTable, readPublished } from "../server/publication.ts";
import { quoteName } from "../server/session.ts";
import { issue, type Preflight, tableKey } from "./issues.ts";
import { type SourceTableFacts, shownTable } from "./tables.ts";

type Publication = {
  readonly insert: boolean;
  readonly update: boolean;
  readonly delete: boolean;
  readonly truncate: boolean;
  readonly viaRoot: boolean;
};

export async function publicationIssues(
  parts: Preflight,
  facts: ReadonlyMap<number, SourceTableFacts>,
): Promise<Issue[]> {
  const name = parts.config.settings?.publicationName;
  if (name === undefined) return await ownPublicationIssues(parts, facts);
  const path = "settings.publicationName";
  const { rows } = await parts.client.query<Publication>(
    `SELECT pubinsert AS insert, pubupdate AS update, pubdelete AS delete, pubtruncate AS truncate,
       pubviaroot AS "viaRoot" FROM pg_catalog.pg_publication WHERE pubname = $1`,
    [name],
  );
  const [publication] = rows;
  if (publication === undefined) {
    const list = [...parts.tables.values()].slice(0, 20).map(shownTable).join(", ");
    const create = `CREATE PUBLICATION ${quoteName(name)} FOR TABLE ${list}`;
    return [issue(path, `publication "${name}" does not exist in database "${parts.config.database}": ${create}`)];
  }
  const issues: Issue[] = [];
  const alter = `ALTER PUBLICATION ${quoteName(name)}`;
  const missing = (["insert", "update", "delete", "truncate"] as const).filter((kind) => !publication[kind]);
  if (missing.length > 0) {
    const remedy = `${alter} SET (publish = 'insert, update, delete, truncate')`;
    issues.push(issue(path, `publication "${name}" does not publish ${missing.join(", ")}: ${remedy}`));
  }
  const partitioned = [...parts.tables.values()].find(({ relkind }) => relkind === "p");
  if (partitioned !== undefined && !publication.viaRoot) {
    const remedy = `${alter} SET (publish_via_partition_root = true)`;
    return [...issues, issue(path, `${shownTable(partitioned)} is partitioned: ${remedy}`)];
  }
  return [...issues, ...membershipIssues(parts, alter, await publishedByKey(parts, name))];
}

/** One that the pipe has made gets the tables that are new to the pipe. */
async function ownPublicationIssues(parts: Preflight, facts: ReadonlyMap<number, SourceTableFacts>): Promise<Issue[]> {
  const name = parts.known?.names.publication;
  if (name === undefined || !(await isPublication(parts, name))) return creationIssues(parts, facts);
  const published = await publishedByKey(parts, name);
  const user = quoteName(parts.server.user);
  return parts.config.tableMappings.flatMap((mapping, index) => {
    const key = tableKey(mapping.sourceSchemaName, mapping.sourceTable);
    const table = parts.tables.get(key);
    if (table === undefined || published.has(key) || facts.get(table.oid)?.owned !== false) return [];
    const shown = shownTable(table);
    const remedy = `let a superuser run ALTER PUBLICATION ${quoteName(name)} ADD TABLE ${shown}`;
    const message = `user ${user} does not own ${shown} and cannot add it to the publication of the pipe; ${remedy}`;
    return [issue(`tableMappings.${index}.sourceTable`, message)];
  });
}

async function isPublication({ client }: Preflight, name: string): Promise<boolean> {
  const { rowCount } = await client.query("SELECT 1 FROM pg_catalog.pg_publication WHERE pubname = $1", [name]);
  return rowCount === 1;
}

/** We make the publication: that takes the ownership of the tables. */
function creationIssues({ config, server, tables }: Preflight, facts: ReadonlyMap<number, SourceTableFacts>): Issue[] {
  const user = quoteName(server.user);
  const issues: Issue[] = [];
  if (!server.mayCreate) {
    const grant = `GRANT CREATE ON DATABASE ${quoteName(config.database)} TO ${user}`;
    issues.push(issue("settings.publicationName", `user ${user} may not create a publication: ${grant}, or name one`));
  }
  const foreign = [...tables.values()].filter(({ oid }) => facts.get(oid)?.owned === false);
  if (foreign.length > 0) {
    const list = foreign.slice(0, 20).map(shownTable).join(", ");
    const remedy = "let the owner create one and name it here";
    issues.push(
      issue("settings.publicationName", `user ${user} does not own ${list} and cannot publish them; ${remedy}`),
    );
  }
  return issues;
}

async function publishedByKey({ client }: Preflight, name: string): Promise<ReadonlyMap<string, PublishedTable>> {
  return new Map((await readPublished(client, name)).map((row) => [tableKey(row.schema, row.name), row]));
}

function membershipIssues(parts: Preflight, alter: string, published: ReadonlyMap<string, PublishedTable>): Issue[] {
  const issues: Issue[] = [];
  for (const [index, mapping] of parts.config.tableMappings.entries()) {
    const key = tableKey(mapping.sourceSchemaName, mapping.sourceTable);
    const table = parts.tables.get(key);
    if (table === undefined) continue;
    const name = shownTable(table);
    const path = `tableMappings.${index}`;
    const found = published.get(key);
    if (found === undefined) {
      issues.push(issue(`${path}.sourceTable`, `${name} is not in the publication: ${alter} ADD TABLE ${name}`));
      continue;
    }
    if (found.filter !== null) {
      const message = `the publication leaves out rows of ${name} (WHERE ${found.filter}); publish all of them`;
      issues.push(issue(`${path}.sourceTable`, message));
    }
    const lost = replicatedColumns(table, mapping.excludedColumns).filter(({ name }) => found.hidden.includes(name));
    if (lost.length > 0) {
      const list = lost.map((column) => column.name).join(", ");
      issues.push(
        issue(
          `${path}.excludedColumns`,
          `the publication leaves out ${list} of ${name}; name them here, or publish them`,
        ),
      );
    }
  }
  return issues;
}

type Slot = {
  readonly type: string;
  readonly plugin: string | null;
  readonly database: string | null;
  readonly active: boolean;
  readonly temporary: boolean;
  readonly twoPhase: boolean;
  readonly walStatus: string | null;
  /** Postgres 17 and newer. */
  readonly failover: boolean | null;
};

/** The slot that `cdc_only` is given. */
export async function slotIssues({ client, config, known }: Preflight): Promise<Issue[]> {
  const name = config.settings?.replicationSlotName;
  if (name === undefined) return [];
  const { rows } = await client.query<Slot>(
    `SELECT slot_type AS type, plugin::text, database::text, active, temporary, two_phase AS "twoPhase",
       wal_status AS "walStatus", (pg_catalog.to_jsonb(s)->>'failover')::bool AS failover
     FROM pg_catalog.pg_replication_slots s WHERE slot_name = $1`,
    [name],
  );
  const add = (message: string) => [issue("settings.replicationSlotName", message)];
  const [slot] = rows;
  if (slot === undefined) {
    const create = `SELECT pg_create_logical_replication_slot('${name.replaceAll("'", "''")}', 'pgoutput')`;
    return add(`slot "${name}" does not exist: ${create}`);
  }
  if (slot.type !== "logical") return add(`slot "${name}" is physical; a logical one is needed`);
  if (slot.database !== config.database) return add(`slot "${name}" belongs to database "${slot.database}"`);
  if (slot.plugin !== "pgoutput") return add(`slot "${name}" uses ${slot.plugin}; it must use pgoutput`);
  if (slot.temporary) return add(`slot "${name}" is temporary; a lasting one is needed`);
  if (slot.twoPhase) return add(`slot "${name}" decodes prepared transactions; make it without two_phase`);
  if (slot.walStatus === "lost") {
    return add(
      `slot "${name}" is lost: the server removed log it still needed. Drop it, make a new one and copy again`,
    );
  }
  if (slot.active && known === undefined) return add(`slot "${name}" is in use by another client`);
  if (config.settings?.enableFailoverSlots === true && slot.failover === false) {
    const create = `pg_create_logical_replication_slot(..., failover => true)`;
    return [issue("settings.enableFailoverSlots", `slot "${name}" was made without failover; make it with ${create}`)];
  }
  return [];
}
