/**
 * Postgres under the contract of connectors: the real source, connected to a scripted server, is killed before and
 * after every step of copy and stream. In the end the tables show what the script means, and the slot was never moved
 * over something that was not in them.
 */

import { mappingOf } from "../../harness/postgres/memory/config.ts";
import { MemoryDatabase } from "../../harness/postgres/memory/database.ts";
import { MemoryReplication, type Stage } from "../../harness/postgres/memory/replication.ts";
import { MemoryStand } from "../../harness/postgres/memory/stand.ts";
import { describeSource } from "../../harness/sources/source-contract.ts";

/** Stored out of line: an update that leaves it as it is does not send it. */
const large = (seed: string) => `${seed}-`.repeat(12).padEnd(45, "x");

const id = { name: "id", type: "int4", notNull: true } as const;
const note = { name: "note", type: "text", notNull: false } as const;
const body = { name: "body", type: "text", notNull: false } as const;
const more = { name: "more", type: "text", notNull: false } as const;

function databaseOf(): MemoryDatabase {
  const database = new MemoryDatabase();
  database.create({ name: "orders", identity: "d", key: ["id"], columns: [id, note, body, more] });
  database.create({
    name: "events",
    identity: "f",
    key: ["id"],
    columns: [id, note, body],
    leaves: ["events_0", "events_1"],
  });
  database.create({ name: "journal", identity: "d", key: ["id"], columns: [id, note] });
  database.create({ name: "late", identity: "d", key: ["id"], columns: [id, note] });
  database.create({ name: "ledger", identity: "d", key: ["id"], columns: [id, note] });
  database.create({ name: "other", identity: "d", key: ["id"], columns: [id] });
  database.commit((write) => {
    for (let at = 1; at <= 14; at += 1) {
      write.insert("orders", { id: `${at}`, note: `o${at}`, body: large(`o${at}`), more: large(`more${at}`) });
    }
    for (let at = 1; at <= 8; at += 1) write.insert("events", { id: `${at}`, note: null, body: large(`e${at}`) });
    for (let at = 1; at <= 5; at += 1) write.insert("journal", { id: `${at}`, note: `j${at}` });
  });
  return database;
}

/** Before the tables `late` and `ledger` are added to the pipe. */
const first: readonly Stage[] = [
  {
    at: "snapshot",
    work: (database) => {
      database.advance();
      database.commit((write) => {
        write.update("orders", "1", { note: "during the copy, and partial" });
        write.delete("orders", "3");
        // Its new place is in a range that may be durable by now, and its old one in a range that is not.
        write.update("orders", "10", { note: "moved to an early page, and partial" });
        write.insert("journal", { id: "6", note: "j6" });
      });
      database.commit((write) =>
        write.insert("orders", { id: "30", note: "on a page that may be copied", body: null, more: null }),
      );
    },
  },
  {
    at: "copy",
    work: (database) => {
      database.commit((write) => {
        write.update("orders", "2", { id: "102" });
        write.update("orders", "102", { note: "moved, and partial under its new key" });
        write.update("orders", "8", { id: "108" });
        write.insert("journal", { id: "7", note: "j7" });
      });
      // Rows of late pages come to early ones, which may be durable, and no transaction says so.
      database.rewrite("orders");
      database.commit((write) => {
        write.truncate("events");
        write.insert("events", { id: "50", note: "after the truncate", body: large("e50") });
      });
    },
  },
  {
    at: "copy",
    work: (database) => {
      database.commit((write) => {
        write.delete("orders", "4");
        write.insert("orders", { id: "4", note: "made again", body: large("again"), more: null });
        write.update("orders", "4", { note: "and partial" });
        write.update("orders", "9", { body: large("new") });
        write.update("orders", "9", { note: "lacks what the update before has told" });
        write.update("events", "50", { note: "old row told" });
      });
    },
  },
  {
    at: "stream",
    work: (database) => {
      database.commit((write) => write.insert("other", { id: "1" }));
      database.commit((write) => {
        write.update("orders", "7", { id: "107" });
        write.insert("orders", { id: "7", note: "another one", body: large("another"), more: null });
      });
      // Larger than a batch.
      database.commit((write) => {
        for (let at = 200; at < 210; at += 1)
          write.insert("orders", { id: `${at}`, note: null, body: large(`o${at}`), more: "m" });
        write.update("orders", "200", { note: "partial, and inserted by the same transaction" });
        write.insert("journal", { id: "8", note: "j8" });
        write.truncate("events");
        write.insert("events", { id: "60", note: "after the second truncate", body: large("e60") });
        write.delete("orders", "201");
      });
    },
  },
  // The log grows by nothing that is for the pipe: the slot moves all the same.
  { at: "confirmed", work: (database) => database.advance() },
  {
    at: "told",
    work: (database) => {
      database.commit((write) => {
        write.update("orders", "5", { note: "before the column" });
        write.addColumn("orders", { name: "extra", type: "text", notNull: false, missingValue: "usual" });
        write.update("orders", "6", { extra: "own" });
        write.update("orders", "102", { id: "103", extra: null });
        write.insert("orders", { id: "300", note: null, body: null, more: null, extra: null });
      });
      database.commit((write) => {
        write.update("events", "60", { id: "61" });
        write.insert("journal", { id: "9", note: "j9" });
      });
    },
  },
];

const added: readonly Stage[] = [
  {
    at: "snapshot",
    work: (database) =>
      database.commit((write) => {
        write.update("late", "1", { note: "during its copy" });
        write.update("orders", "107", { note: "while another table is copied" });
      }),
  },
  // The stream goes on while the table is copied, and then the table is brought to where the stream is.
  {
    at: "copy",
    work: (database) => {
      database.commit((write) => {
        write.update("orders", "5", { note: "while rows are copied" });
        write.update("late", "3", { id: "33" });
        write.delete("late", "4");
        write.insert("journal", { id: "10", note: "j10" });
      });
      database.commit((write) => {
        write.truncate("late");
        write.insert("late", { id: "20", note: "after its truncate" });
        write.insert("late", { id: "21", note: "after its truncate" });
        write.insert("ledger", { id: "3", note: "i3" });
        write.delete("orders", "30");
      });
    },
  },
  // Nothing stands behind the truncate, so only its own batch holds the slot back.
  { at: "stream", work: (database) => database.commit((write) => write.truncate("events")) },
  {
    at: "told",
    work: (database) =>
      database.commit((write) => {
        write.delete("late", "21");
        write.insert("late", { id: "9", note: "new" });
        write.insert("ledger", { id: "4", note: "i4" });
        write.delete("orders", "103");
      }),
  },
];

const mappings = [mappingOf("orders"), mappingOf("events"), mappingOf("journal", "MergeTree")];

const laterMappings = [mappingOf("late"), mappingOf("ledger", "MergeTree")];

/** Beside the tables that are followed. */
const addLate = ({ server }: MemoryStand) => {
  server.database.commit((write) => {
    for (let at = 1; at <= 6; at += 1) write.insert("late", { id: `${at}`, note: `l${at}` });
    for (let at = 1; at <= 2; at += 1) write.insert("ledger", { id: `${at}`, note: `i${at}` });
  });
  server.add(...added);
};

describeSource("Postgres", async () => {
  const server = await MemoryReplication.start(databaseOf(), first);
  const phases = [{ mappings }, { mappings: [...mappings, ...laterMappings], begin: addLate }];
  return new MemoryStand(server, phases).contract;
});
