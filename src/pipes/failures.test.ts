import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { ClickHouseError } from "../clickhouse/client.ts";
import { failureOf } from "./failures.ts";

test("a batch whose shard went away in the middle is repeated, and never given up as damaged", () => {
  const message =
    "Code: 32. DB::Exception: Attempt to read after eof: while receiving packet from 127.0.0.1:9001, local address: 127.0.0.1:33864: " +
    "Insertion status:\nWrote 1 blocks and 8144 rows on shard 0 replica 0. (ATTEMPT_TO_READ_AFTER_EOF) (version 26.7.2.1)";
  expect(failureOf(new ClickHouseError(32, 500, message))).toMatchObject({ kind: "engine", known: true });
});

test("an object that ends too early is damaged", () => {
  const message =
    "Code: 32. DB::Exception: Attempt to read after eof: (in file/uri bucket/a.parquet). (ATTEMPT_TO_READ_AFTER_EOF)";
  expect(failureOf(new ClickHouseError(32, 500, message))).toMatchObject({ kind: "data", known: true });
});

const inFile =
  "(in file/uri bucket/a): While executing ArrowIPCBlockInputFormat: While executing ReadFromObjectStorage.";

test.each([
  ["36, of a reader that does not know a type", 36, `Cannot insert Avro decimal with scale 0: ${inFile}`, "data"],
  ["48, of a reader that does not know a feature", 48, `Not implemented: ${inFile}`, "data"],
  ["36, for the key of an object", 36, "Invalid S3 key: 'in//a' (http://host/in//a). (BAD_ARGUMENTS)", "data"],
  ["36, of the statement", 36, "Cannot insert", "destination"],
  [
    "241, for more than there can be",
    241,
    `would use 4.00 EiB (attempt to allocate chunk of 4.00 EiB), maximum: 762.94 MiB: ${inFile}`,
    "data",
  ],
  [
    "241, for what fits later",
    241,
    `would use 764.00 MiB (attempt to allocate chunk of 4.00 MiB), maximum: 762.94 MiB: ${inFile}`,
    "engine",
  ],
  [
    "241, of the insert",
    241,
    "would use 2.00 GiB (attempt to allocate chunk of 2.00 GiB), maximum: 762.94 MiB",
    "engine",
  ],
])("code %s", (_, code, text, kind) => {
  const message = `Code: ${code}. DB::Exception: ${text} (version 26.7.2.1)`;
  expect(failureOf(new ClickHouseError(code, 500, message))).toMatchObject({ kind, known: true });
});

test("a file that cannot be read is not the engine's failure, and its place is not told", async () => {
  const error = await readFile("/nowhere/inbox/1.body").catch((reason: unknown) => reason);
  expect(failureOf(error)).toMatchObject({ kind: "source", message: "a file that was sent is gone (ENOENT)" });
});
