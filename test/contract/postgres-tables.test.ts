/**
 * Tables that are added to a running Postgres pipe and taken out of it, under the contract of connectors: the worker is
 * killed before and after every step, and the tables of the pipe have changed when the next one opens. A table that was
 * taken out keeps what was committed up to one position, whole batches of it, and begins anew when it comes back.
 */
import { mappingOf } from "../../harness/postgres/memory/config.ts";
import { MemoryDatabase, type Writer } from "../../harness/postgres/memory/database.ts";
import { MemoryReplication, type Stage } from "../../harness/postgres/memory/replication.ts";
import { MemoryStand } from "../../harness/postgres/memory/stand.ts";
import { describeSource, type World } from "../../harness/sources/source-contract.ts";
import { covers, parsePosition } from "../../src/sources/relational-db/protocol/lsn.ts";

const columns = [
  { name: "id", type: "int4", notNull: true },
  { name: "note", type: "text", notNull: false },
] as const;
const names = ["orders", "events", "journal", "late"];
/** Taken out of the pipe in between; of the second one every change is a row. */
const removed = ["events", "journal"];

function databaseOf(): MemoryDatabase {
  const database = new MemoryDatabase();
  for (const name of names) database.create({ name, identity: "d", key: ["id"], columns });
  database.commit((write) => {
    for (const name of names.slice(0, 3)) {
      for (let at = 1; at <= 3; at += 1) write.insert(name, { id: `${at}`, note: `${name} ${at}` });
    }
  });
  return database;
}

/** A transaction on every table, with keys of its own: a batch of it has an insert per table. */
function everywhere(write: Writer, at: number): void {
  write.update("orders", "1", { note: `changed ${at}` });
  write.insert("journal", { id: `${at}`, note: `j${at}` });
  write.insert("events", { id: `${at}`, note: `e${at}` });
  write.insert("late", { id: `${at}`, note: `l${at}` });
  write.update("events", "1", { note: `changed ${at}` });
}

const stage = (at: Stage["at"], id: number): Stage => ({
  at,
  work: (database) => database.commit((write) => everywhere(write, id)),
});

describeSource("Postgres tables that come and go", async () => {
  const server = await MemoryReplication.start(databaseOf(), [
    stage("copy", 10),
    stage("stream", 11),
    { at: "told", work: (database) => database.commit((write) => write.delete("events", "2")) },
    stage("told", 12),
  ]);
  const [orders, late] = [mappingOf("orders"), mappingOf("late")];
  const back = [mappingOf("events"), mappingOf("journal", "MergeTree")];
  let left: ReadonlyMap<string, readonly string[]> = new Map();
  const stand = new MemoryStand(server, [
    { mappings: [orders, ...back] },
    {
      mappings: [orders, late],
      atDeath: true,
      begin: (_, world) => {
        left = leftAt(stand, world);
        server.add(stage("copy", 20), stage("stream", 21), stage("told", 22));
      },
      end: () => {
        for (const [name, rows] of left) {
          const shown = stand.shown(name);
          if (shown.join("\n") !== rows.join("\n")) stand.problems.push(`${name} was left with ${shown}, not ${rows}`);
        }
      },
    },
    {
      mappings: [orders, ...back, late],
      begin: () => server.add(stage("copy", 30), stage("stream", 31), stage("told", 32)),
    },
  ]);
  return stand.contract;
});

/** The rows that followed tables have when the batches that have begun are durable. */
function leftAt(stand: MemoryStand, world: World): ReadonlyMap<string, readonly string[]> {
  const { server } = stand;
  const ends = [...world.intents.values()].flatMap(({ lane, intent }) => {
    const { to } = intent.replay as { to?: string };
    return lane === "stream" && to !== undefined ? [to] : [];
  });
  const place = ends.at(-1) ?? (world.checkpoints.get("stream") as string | undefined);
  if (place === undefined) return new Map();
  const followed = removed.filter(
    (name) => (world.marks.get(`table:${name}`) as { copied?: string } | undefined)?.copied,
  );
  const end = parsePosition(place);
  const rows = (name: string) => server.database.rowsAt(name, (lsn, change) => covers(end, lsn, change));
  return new Map(followed.map((name) => [name, stand.textsOf(name, rows(name)).toSorted()]));
}
