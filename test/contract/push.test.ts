import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testContext, testDestination } from "../../harness/sources/source-context.ts";
import { type ContractCase, describeSource, type World } from "../../harness/sources/source-contract.ts";
import { ClickHouseError } from "../../src/clickhouse/client.ts";
import { childOf } from "../../src/lib/abort.ts";
import type { Source } from "../../src/sources/contract/source.ts";
import { planRows } from "../../src/sources/messages/plan.ts";
import { divisionOf } from "../../src/sources/push/bodies/formats.ts";
import { takeIn } from "../../src/sources/push/bodies/intake.ts";
import { inboxLane, type PushDurable, pushShapes } from "../../src/sources/push/declaration/durable.ts";
import type { PushConfig } from "../../src/sources/push/declaration/kind.ts";
import { Inbox } from "../../src/sources/push/inbox/inbox.ts";
import { pushVirtualColumns } from "../../src/sources/push/message.ts";
import { InboxReader } from "../../src/sources/push/reader.ts";
import { RowBatches } from "../../src/sources/push/row-batches.ts";
import { rowFormatOf } from "../../src/sources/push/row-format.ts";
import { PushSource } from "../../src/sources/push/source.ts";

let lives = 0;

/** What was sent before the first worker came: bodies of one row and of many, with bad rows and blank lines. */
async function filled(folder: string, config: PushConfig, bodies: readonly string[]): Promise<Inbox> {
  const inbox = await Inbox.open({ folder, next: 0, onProblem: (error) => Promise.reject(error) });
  for (const text of bodies) {
    async function* pieces() {
      // Cut anywhere: a body arrives in pieces that mean nothing.
      for (let at = 0; at < text.length; at += 5) yield Buffer.from(text.slice(at, at + 5));
    }
    const taken = await takeIn(pieces(), { config, mediaType: undefined, folder, mostBytes: 1_000, digests: false });
    const { rows, head, body } = taken;
    await inbox.append({ facts: { n: rows, t: 1, ...(head === undefined ? {} : { h: head }) }, body });
  }
  return inbox;
}

/** An inbox never ends; this one does when everything is durable. */
function ending(source: PushSource, world: World, inbox: Inbox): Source<PushDurable> {
  return {
    read: async function* (checkpoints, signal) {
      using reading = childOf(signal);
      const timer = setInterval(() => world.checkpoints.get(inboxLane) === inbox.end && reading.abort(), 2);
      try {
        yield* source.read(checkpoints, reading.signal);
      } catch (error) {
        if (!reading.signal.aborted) throw error;
      } finally {
        clearInterval(timer);
      }
    },
    replay: (replay) => source.replay(replay),
    refused: (batch, failure) => source.refused(batch, failure),
    acknowledge: (batch) => source.acknowledge(batch),
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

async function caseOf(
  config: PushConfig,
  bodies: readonly string[],
  expected: readonly string[],
): Promise<ContractCase> {
  const folder = mkdtempSync(join(tmpdir(), "push-contract-"));
  const inbox = await filled(folder, config, bodies);
  const signal = new AbortController().signal;
  return {
    durable: pushShapes,
    open: async (world) => {
      lives += 1;
      const rows = rowFormatOf(config, pushVirtualColumns);
      const access = {
        news: (after: number) => inbox.news(after, () => ({ rows: 1, bytes: 1, ageMs: 0 }), signal),
        loaded: (next: number) => inbox.loaded(next),
      };
      const division = divisionOf(config);
      const reader = new InboxReader(folder, division.kind === "whole" ? undefined : division.form);
      const query = async (sql: string) => {
        if (sql.includes("unreadable")) throw new ClickHouseError(27, 400, "Code: 27. DB::Exception: Cannot parse");
        return [];
      };
      const encoder = rows.encoder(planRows(testDestination, rows.format, pushVirtualColumns));
      // Each worker has another number of rows per batch, so that batches also end within a body.
      const limits = { maxRows: 1 + (lives % 4), maxBytes: 1_000_000 };
      const maker = new RowBatches({ reader, encoder, limits, query });
      const source = new PushSource({ context: testContext<PushDurable>(), inbox: access, maker });
      return ending(source, world, inbox);
    },
    expected,
    rowsOf: async (insert) => {
      const lines = String(insert.body?.())
        .split("\n")
        .filter((line) => line !== "");
      return config.format === "CSVWithNames" ? lines.slice(1) : lines;
    },
    engineError: (rows) => {
      const at = rows.findIndex((line) => line.includes("unreadable"));
      return at < 0
        ? undefined
        : new ClickHouseError(27, 400, `Code: 27. DB::Exception: Cannot parse: (at row ${at + 1})`);
    },
    rejected: 2,
    close: async () => {
      await inbox.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const row = (name: string) => `{"a":"${name}"}`;
const names = ["a0", "a1", "a2", "a3", "b0", "c0", "c1", "c2"];

describeSource("push", () =>
  caseOf(
    {},
    [
      `${row("a0")}\n${row("a1")}\n\nnot json\n${row("a2")}\n${row("a3")}`,
      row("b0"),
      `[${row("c0")}, ${row("unreadable")},\n${row("c1")},${row("c2")}]`,
    ],
    names.map(row),
  ),
);

describeSource("push of CSV", () =>
  caseOf(
    { format: "CSVWithNames" },
    [`a\na0\na1\n"unreadable"\na2\na3\n`, "\ufeffa\r\nb0\r\n", 'b,a\n1,c0\n\n1,c1\n1,unreadable\n"1",c2'],
    ["a0", "a1", "a2", "a3", "b0", "1,c0", "1,c1", '"1",c2'],
  ),
);
