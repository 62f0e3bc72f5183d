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
