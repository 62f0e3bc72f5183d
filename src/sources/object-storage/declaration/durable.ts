/** The ledger of an object storage pipe. */
import * as z from "zod/mini";
import type { DurableOf, Stored } from "../../contract/durable.ts";
import { objectFormats } from "./object-formats.ts";

/** Number of the request to load a version that is done once more: it makes the batch another one. */
const again = z.optional(z.int());

const file = z.object({ key: z.string(), etag: z.string(), size: z.number(), again });

const rejectedRecord = z.object({
  origin: z.string(),
  position: z.optional(z.string()),
  message: z.string(),
  raw: z.optional(z.string()),
  rows: z.optional(z.int()),
  format: z.optional(z.enum(["text", "hex"])),
  size: z.optional(z.int()),
  /** What makes the line of a text file a row again. */
  facts: z.optional(
    z.object({
      format: z.enum(objectFormats),
      /** First line of the file, for formats with names. */
      header: z.optional(z.string()),
      path: z.string(),
      size: z.number(),
      etag: z.string(),
      /** Seconds since 1970. */
      time: z.number(),
    }),
  ),
});

/** A batch: object versions that one statement loads. */
const pack = z.object({
  files: z.array(file),
  format: z.enum(objectFormats),
  /** Everything in one block: readers see all of it or nothing (per partition). */
  oneBlock: z.boolean(),
  /** Bad rows are skipped. */
  lenient: z.boolean(),
  /** Threads that parse; frozen with the rest, though rows and blocks do not depend on it. */
  threads: z.number(),
  /** A prefix with hardly any other objects: one LIST of it replaces a request for each object's version. */
  folder: z.optional(z.string()),
  /** Nothing is loaded: the file is given up, and `rejected` gives the reason. */
  givenUp: z.optional(z.boolean()),
  /** It is given up because the object does not exist: none of its rows was loaded. */
  gone: z.optional(z.boolean()),
  /** Id of the refused batch whose blocks this one completes. */
  continues: z.optional(z.string()),
  rejected: z.optional(z.array(rejectedRecord)),
});

/**
 * The result for an object version. `again`: it is to be loaded once more, in the version that is there then. `gone`:
 * it was deleted before it was loaded, so that what comes back is loaded, also the same version.
 */
const fileMark = z.object({
  etag: z.string(),
  result: z.enum(["loaded", "failed", "skipped", "again", "gone"]),
  again,
});

export const objectShapes = {
  replay: pack,
  /** Marks alone record progress. */
  checkpoint: z.never(),
  /**
   * `cursor:`: the key up to which a replica has finished everything. `again`: what the objects that are to be loaded
   * once more begin with.
   */
  marks: { "o:": fileMark, "cursor:": z.string(), again: z.object({ prefixes: z.array(z.string()) }) },
};

export type ObjectDurable = DurableOf<typeof objectShapes>;
/** A row or an object that was refused. */
export type RejectedObjectRow = Stored<typeof rejectedRecord>;
export type LineFacts = NonNullable<RejectedObjectRow["facts"]>;
export type Pack = Stored<typeof pack>;
export type FileMark = Stored<typeof fileMark>;
