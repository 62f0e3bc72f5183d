/**
 * Converts what a pipe keeps in the ledger between the worker's values and the store's JSON: the shapes of its kind of
 * source, and the members that the runner adds. Only the control plane loads this file; a worker loads its types.
 */
import * as z from "zod/mini";
import type { Json } from "../lib/json.ts";
import {
  type DurableShapes,
  readStored,
  type Stored,
  shapeOfMark,
  shapesVersion,
  versioned,
} from "../sources/contract/durable.ts";
import type { Durable } from "../sources/contract/source.ts";
import type { StoredConfirmation, StoredIntent } from "../store/pipes/ledger-writes.ts";

/** What the runner saves with a batch, besides its replay. */
export const frozenShape = z.object({
  token: z.string(),
  /** Engine settings of each insert. */
  settings: z.array(z.record(z.string(), z.union([z.string(), z.number()]))),
  /** The worker that saved this, by its run and its index in it. */
  run: z.string(),
  replica: z.int(),
  /** The run in which the batch, or the refused one that it replaces, was begun. */
  since: z.string(),
});

/** Marks of every pipe. `begun`: the epoch whose rows may be in the table. */
export const commonMarks = { begun: z.int() };

export type FrozenBatch<D extends Durable = Durable> = Stored<typeof frozenShape> & { readonly replay: D["replay"] };

export type Intent<D extends Durable = Durable> = Omit<StoredIntent, "intent"> & { readonly intent: FrozenBatch<D> };

export type Confirmation<D extends Durable = Durable> = Omit<StoredConfirmation, "checkpoint" | "marks"> & {
  readonly checkpoint?: D["checkpoint"];
  readonly marks: D["marks"];
};

/** Reads and writes the ledger of pipes of one kind. Reading throws STORED_STATE_UNREADABLE. */
export class StoredForms {
  readonly #shapes: DurableShapes;

  constructor(shapes: DurableShapes) {
    this.#shapes = { ...shapes, marks: { ...commonMarks, ...shapes.marks } };
  }

  writeIntent({ batchId, lane, intent }: Intent): StoredIntent {
    return { batchId, lane, intent: { ...intent, v: shapesVersion, replay: versioned(intent.replay) } };
  }

  readIntent({ batchId, lane, intent }: StoredIntent): Intent {
    const what = `batch ${batchId}`;
    const frozen = readStored(frozenShape, intent, what);
    const replay = readStored(this.#shapes.replay, intent.replay ?? null, `replay of the ${what}`);
    return { batchId, lane, intent: { ...frozen, replay } };
  }

  writeConfirmation(done: Confirmation): StoredConfirmation {
    const { checkpoint, marks, ...rest } = done;
    const position = checkpoint === undefined ? {} : { checkpoint: versioned(checkpoint) };
    return { ...rest, ...position, marks: this.writeMarks(marks) };
  }

  readCheckpoints(stored: Readonly<Record<string, Json>>): Record<string, Json> {
    return mapped(stored, (json, lane) => readStored(this.#shapes.checkpoint, json, `position of ${lane}`));
  }

  /** A mark without a shape is a bug: throws TypeError. */
  writeMarks(marks: Readonly<Record<string, Json>>): Record<string, Json> {
    return mapped(marks, (mark, key) => {
      shapeOfMark(this.#shapes, key);
      return versioned(mark);
    });
  }

  readMarks(stored: Readonly<Record<string, Json>>): Record<string, Json> {
    return mapped(stored, (json, key) => readStored(shapeOfMark(this.#shapes, key), json, `mark ${key}`));
  }
}

function mapped(values: Readonly<Record<string, Json>>, change: (value: Json, key: string) => Json) {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value, key)]));
}
