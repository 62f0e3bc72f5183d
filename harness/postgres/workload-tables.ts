/** The tables of the random workload, each with one difficulty for replication. */
import type { Dice } from "../random.ts";

export type WorkloadTable = {
  readonly name: string;
  readonly create: string;
  /** One statement that inserts rows; existing rows are skipped. */
  insert(dice: Dice, rows: number): string;
  /** Statements that change or remove rows. */
  readonly changes: readonly ((dice: Dice) => string)[];
  readonly truncated?: boolean;
};

/** Few keys, so that rows are deleted, inserted again and changed by several writers. */
const keys = 400;
/** Longer than a page and not compressed: stored out of line. */
const large = (dice: Dice) => `repeat(md5('${dice.next()}'), ${80 + dice.below(200)})`;
const span = (dice: Dice, width: number) => {
  const from = dice.below(keys);
  return `BETWEEN ${from} AND ${from + dice.below(width)}`;
};
/** `rows` keys from a random start on; many rows exceed the few keys. */
const series = (dice: Dice, rows: number) => {
  const from = rows > 100 ? keys + dice.below(5 * keys) : dice.below(keys);
  return `generate_series(${from}, ${from + rows - 1}) AS k`;
};
const word = (dice: Dice) =>
  dice.pick(["''", "NULL", "'tab\there'", "E'line\\nfeed'", "'back\\slash'", "'é€😀'", "'\\N'", "'word'"]);

const plain: WorkloadTable = {
  name: "plain",
  create: `CREATE TABLE plain (id bigint PRIMARY KEY, n int, note text, at timestamptz, amount numeric(12,3),
    flag boolean NOT NULL DEFAULT false, ratio float8, data jsonb)`,
  insert: (dice, rows) =>
    `INSERT INTO plain SELECT k, k % 7, ${word(dice)}, timestamptz '2020-01-01' + k * interval '1.000001 s', k / 8.0, k % 2 = 0,
      k / 3.0, jsonb_build_object('k', k, 'w', ${word(dice)}) FROM ${series(dice, rows)} ON CONFLICT DO NOTHING`,
  changes: [
    (dice) => `UPDATE plain SET n = n + 1, note = ${word(dice)} WHERE id ${span(dice, 20)}`,
    (dice) => `UPDATE plain SET amount = -amount, flag = NOT flag, at = NULL WHERE id = ${dice.below(keys)}`,
    (dice) => `DELETE FROM plain WHERE id ${span(dice, 10)}`,
    (dice) => `DELETE FROM plain WHERE id > ${keys + dice.below(6 * keys)}`,
    (dice) => `UPDATE plain SET n = 0 WHERE id % ${2 + dice.below(50)} = 0`,
  ],
};

const pair: WorkloadTable = {
  name: "pair",
  create: "CREATE TABLE pair (value text, b text, tags text[] NOT NULL DEFAULT '{}', a int, PRIMARY KEY (a, b))",
  insert: (dice, rows) =>
    `INSERT INTO pair SELECT ${word(dice)}, 'b' || k % 5, ARRAY['x', 'k' || k], k FROM ${series(dice, rows)} ON CONFLICT DO NOTHING`,
  changes: [
    (dice) => `UPDATE pair SET value = ${word(dice)} WHERE a ${span(dice, 10)}`,
    (dice) => `UPDATE pair SET b = b || '${dice.below(3)}' WHERE a = ${dice.below(keys)} AND length(b) < 10`,
    (dice) => `DELETE FROM pair WHERE a ${span(dice, 5)}`,
  ],
  truncated: true,
};

const keyless: WorkloadTable = {
  name: "keyless",
  create: "CREATE TABLE keyless (code text, n int, note text); ALTER TABLE keyless REPLICA IDENTITY FULL",
  // Equal rows without a key are indistinguishable at the destination, so every row has a unique code.
  insert: (dice, rows) =>
    `INSERT INTO keyless SELECT gen_random_uuid()::text, k, ${word(dice)} FROM ${series(dice, Math.min(rows, 200))}`,
  changes: [
    (dice) => `UPDATE keyless SET note = ${word(dice)} WHERE n = ${dice.below(keys)}`,
    (dice) => `UPDATE keyless SET n = n + 1 WHERE n = ${dice.below(keys)}`,
    (dice) => `DELETE FROM keyless WHERE n ${span(dice, 5)}`,
  ],
};

function toasty(name: string, full: boolean): WorkloadTable {
  const identity = full ? `; ALTER TABLE ${name} REPLICA IDENTITY FULL` : "";
  return {
    name,
    create: `CREATE TABLE ${name} (big text, id int PRIMARY KEY, n int, other text);
      ALTER TABLE ${name} ALTER big SET STORAGE EXTERNAL, ALTER other SET STORAGE EXTERNAL${identity}`,
    insert: (dice, rows) =>
      `INSERT INTO ${name} SELECT ${large(dice)}, k, 0, ${large(dice)} FROM ${series(dice, Math.min(rows, 20))} ON CONFLICT DO NOTHING`,
    changes: [
      (dice) => `UPDATE ${name} SET n = n + 1 WHERE id ${span(dice, 10)}`,
      (dice) => `UPDATE ${name} SET n = n + 1 WHERE id ${span(dice, 30)}`,
      (dice) => `UPDATE ${name} SET big = ${large(dice)} WHERE id ${span(dice, 3)}`,
      (dice) => `UPDATE ${name} SET id = id + ${keys * 10} WHERE id ${span(dice, 3)} AND id < ${keys}`,
      (dice) => `UPDATE ${name} SET other = NULL, n = -n WHERE id ${span(dice, 3)}`,
      (dice) => `DELETE FROM ${name} WHERE id ${span(dice, 10)} OR id > ${keys * 10}`,
    ],
  };
}

const moving: WorkloadTable = {
  name: "moving",
  create: "CREATE TABLE moving (id int PRIMARY KEY, n int)",
  insert: (dice, rows) => `INSERT INTO moving SELECT k, 0 FROM ${series(dice, rows)} ON CONFLICT DO NOTHING`,
  changes: [
    (dice) => `UPDATE moving SET id = -id, n = n + 1 WHERE id ${span(dice, 5)} AND id <> 0
      AND NOT EXISTS (SELECT FROM moving m WHERE m.id = -moving.id)`,
    (dice) => `UPDATE moving SET id = -id WHERE id < 0 AND id % 3 = 0
      AND NOT EXISTS (SELECT FROM moving m WHERE m.id = -moving.id) AND n < ${dice.below(50)}`,
    // A key is deleted and inserted again within one transaction.
    (dice) => {
      const id = dice.below(keys);
      return `DELETE FROM moving WHERE id = ${id}; INSERT INTO moving VALUES (${id}, ${dice.below(1000)}) ON CONFLICT DO NOTHING`;
    },
    (dice) => `DELETE FROM moving WHERE id ${span(dice, 20)}`,
  ],
  truncated: true,
};

const parts: WorkloadTable = {
  name: "parts",
  create: `CREATE TABLE parts (id int, bucket int, note text, PRIMARY KEY (id, bucket)) PARTITION BY LIST (bucket);
    CREATE TABLE parts_0 PARTITION OF parts FOR VALUES IN (0);
    CREATE TABLE parts_1 (note text, bucket int NOT NULL, id int NOT NULL);
    ALTER TABLE parts ATTACH PARTITION parts_1 FOR VALUES IN (1)`,
  insert: (dice, rows) =>
    `INSERT INTO parts SELECT k, k % 2, ${word(dice)} FROM ${series(dice, rows)} ON CONFLICT DO NOTHING`,
  changes: [
    (dice) => `UPDATE parts SET bucket = 1 - bucket WHERE id ${span(dice, 5)}
      AND NOT EXISTS (SELECT FROM parts p WHERE p.id = parts.id AND p.bucket = 1 - parts.bucket)`,
    (dice) => `UPDATE parts SET note = ${word(dice)} WHERE id ${span(dice, 20)}`,
    (dice) => `DELETE FROM parts WHERE id ${span(dice, 5)}`,
  ],
};

const odd: WorkloadTable = {
  name: "Odd Näme",
  create: `CREATE TABLE "Odd Näme" ("select" int PRIMARY KEY, "a ""b" text, "tab\\" text)`,
  insert: (dice, rows) =>
    `INSERT INTO "Odd Näme" SELECT k, ${word(dice)}, 'x' FROM ${series(dice, rows)} ON CONFLICT DO NOTHING`,
  changes: [
    (dice) => `UPDATE "Odd Näme" SET "a ""b" = ${word(dice)} WHERE "select" ${span(dice, 9)}`,
    (dice) => `DELETE FROM "Odd Näme" WHERE "select" ${span(dice, 9)}`,
  ],
};

export const workloadTables: readonly WorkloadTable[] = [
  plain,
  pair,
  keyless,
  toasty("toasty", false),
  toasty("toasty_full", true),
  moving,
  parts,
  odd,
];
