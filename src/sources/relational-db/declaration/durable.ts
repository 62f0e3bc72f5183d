/** What a Postgres pipe keeps in its ledger. Positions are texts, see `../protocol/lsn.ts`. */
import * as z from "zod/mini";
import type { DurableOf, Stored } from "../../contract/durable.ts";
import { tableMapping } from "./table-mapping.ts";

const lsn = z.string().check(z.regex(/^[0-9A-Fa-f]{1,8}\/[0-9A-Fa-f]{1,8}$/));
const place = z.string().check(z.regex(/^[0-9A-Fa-f]{1,8}\/[0-9A-Fa-f]{1,8}(#\d+)?$/));

/** Absent for the lane of the stream. */
const ofCatchUp = z.optional(z.literal("catchup"));

/** A part of the stream. `end`: of the last whole transaction, which is confirmed to the source afterwards. */
const changes = z.object({
  kind: z.literal("changes"),
  from: place,
  to: place,
  end: z.optional(lsn),
  lane: ofCatchUp,
});
/** Empties the tables `targets` by the statements `sql`. */
const truncate = z.object({
  kind: z.literal("truncate"),
  from: place,
  to: place,
  sql: z.array(z.string()),
  targets: z.array(z.string()),
  lane: ofCatchUp,
});
/** Copied rows cannot be read again: their batch is empty when it is built again, and the range is copied anew. */
const copy = z.object({ kind: z.literal("copy"), lane: z.string(), id: z.string() });
/** A batch without rows that waits for those before it in its lane. */
const nothing = z.object({ kind: z.literal("nothing"), lane: z.string(), id: z.string() });

/** A type of the source, with what is needed to convert its text. */
const sourceType = z.object({
  oid: z.number(),
  /** `int4`; with the schema in front when it is not of `pg_catalog`: `public.mood`. */
  name: z.string(),
  kind: z.enum(["base", "enum", "domain", "array", "composite", "range", "multirange", "pseudo"]),
  /** -1 for none. A domain's base has the domain's. */
  typmod: z.number(),
  /** Character between the elements of an array of this type. */
  delimiter: z.string(),
  /** An array has it. */
  get element() {
    return z.optional(sourceType);
  },
  /** A domain has it. */
  get base() {
    return z.optional(sourceType);
  },
  /** An enum has them, in order. */
  labels: z.optional(z.array(z.string())),
});

const sourceColumn = z.object({
  name: z.string(),
  attnum: z.int(),
  typeOid: z.number(),
  /** As SQL writes it, with its modifiers: `numeric(10,2)`. */
  typeName: z.string(),
  typmod: z.number(),
  type: sourceType,
  /** Declared dimensions of an array column; 0 for others. */
  dimensions: z.number(),
  notNull: z.boolean(),
  /** Stored or virtual: never in the stream, so it is not copied either. */
  generated: z.boolean(),
  /** Text that rows written before the column was added have (`pg_attribute.attmissingval`); absent for NULL. */
  missingValue: z.optional(z.string()),
  /** It has a default, and the table was rewritten: rows from before the column was added may have any value. */
  isUntold: z.optional(z.literal(true)),
});

const sourceTable = z.object({
  schema: z.string(),
  name: z.string(),
  oid: z.number(),
  /** `r` table, `p` partitioned table; others cannot be replicated. */
  relkind: z.string(),
  replicaIdentity: z.enum(["d", "n", "f", "i"]),
  /** All columns that exist, by attnum. */
  columns: z.array(sourceColumn),
  /** Primary key, or the index of REPLICA IDENTITY USING INDEX; empty without either. In the index' order. */
  key: z.array(z.string()),
});

/** What is known of a table of the pipe. */
const savedTable = z.object({
  /** The columns as the stream has them by now. */
  source: sourceTable,
  mapping: tableMapping,
  /** Names the copy: another one begins with an empty table. */
  copy: z.string(),
  /** Position of the snapshot with which the rows were copied. Changes since may be missing until `copied`. */
  loaded: z.optional(lsn),
  /** The same, once the table is followed with the others. */
  copied: z.optional(lsn),
  /** Changes before this position are part of the copy. */
  skipTo: z.optional(lsn),
  /** Why changes of this table are left out. */
  stopped: z.optional(z.string()),
  stoppedAt: z.optional(z.string()),
  /** What the user has to do before the table is copied anew. */
  remedy: z.optional(z.string()),
  /** The user wants the table to be copied anew. */
  again: z.optional(z.literal(true)),
});

/** How a table is cut into ranges of pages, so that a number means the same pages after a restart, until a rewrite. */
const cut = z.object({
  leaves: z.array(
    z.object({
      schema: z.string(),
      name: z.string(),
      pages: z.number(),
      step: z.number(),
      /** Pages that are copied together at most. Absent in cuts of early versions. */
      most: z.optional(z.number()),
      /** The file of the pages (`pg_relation_filenode`). Absent in cuts of early versions. */
      file: z.optional(z.number()),
    }),
  ),
  /** As the source estimates them. */
  rows: z.number(),
});

/** Which history a position of the log belongs to. */
const lineage = z.object({
  /** The same for a primary and all its standbys. */
  system: z.string(),
  /** From the first to the one that is written now; each but the last has the position at which it ended. */
  timelines: z.array(z.object({ id: z.int(), end: z.optional(lsn) })),
});

export const postgresShapes = {
  replay: z.discriminatedUnion("kind", [changes, truncate, copy, nothing]),
  /** Place in the stream up to which everything is durable. */
  checkpoint: place,
  marks: {
    /** `null`: the table was taken out of the pipe. */
    "table:": z.nullable(savedTable),
    /** Tables of the pipe. */
    targets: z.array(z.string()),
    /** First position of the pipe's slot. */
    slot: lsn,
    lineage,
    /** The source has lost what the pipe needs to go on. */
    lost: z.boolean(),
    /** Position of the newest snapshot that rows were copied in. */
    copied: lsn,
    /** The newest position that was confirmed to the slot. */
    confirmed: lsn,
    /** The oldest transaction that the first snapshot of a table could not see. */
    "since:": z.string(),
    "cut:": cut,
    /** Ranges that are durable. */
    "snapshot:": z.literal(true),
  },
};

export type PostgresDurable = DurableOf<typeof postgresShapes>;
export type PostgresReplay = Stored<typeof postgresShapes.replay>;
export type SavedTable = Stored<typeof savedTable>;
export type SourceTable = Stored<typeof sourceTable>;
export type SourceColumn = Stored<typeof sourceColumn>;
export type SourceType = Stored<typeof sourceType>;
export type RangePlan = Stored<typeof cut>;
export type TimelineHistory = Stored<typeof lineage>;
