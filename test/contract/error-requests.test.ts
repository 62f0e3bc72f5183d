/** Replays and discards of refused rows, with a crash before and after every step of the order. */
import { anyNetwork } from "../../harness/network/network.ts";
import { testDestination } from "../../harness/sources/source-context.ts";
import { describeSource, type World } from "../../harness/sources/source-contract.ts";
import { ClickHouseError } from "../../src/clickhouse/client.ts";
import { Dialer } from "../../src/outgoing/dialer.ts";
import { errorRequestShapes } from "../../src/pipes/error-requests.ts";
import { ErrorRequestsSource } from "../../src/pipes/worker/error-requests-source.ts";
import type { RefusedRowsAccess, RowPosition } from "../../src/pipes/worker/refused-rows.ts";
import type { Insert, Query, RefusedReplays } from "../../src/sources/contract/source.ts";
import { keptColumns } from "../../src/sources/messages/facts.ts";
import { messageFormatOf } from "../../src/sources/messages/formats/rows.ts";
import { MessageReplay } from "../../src/sources/messages/message-replay.ts";
import type { ErrorOutcome, ErrorRequest } from "../../src/store/pipes/error-requests.ts";

const payloads = [
  '{"a":"1"}',
  "no json",
  '{"a":"2"}',
  '{"a":"bad"}',
  '{"a":"3"}',
  '{"a":"4"}',
  '{"a":"bad"}',
  '{"a":"5"}',
];
const batchRows = 3;
/** What stays refused and has this payload is discarded afterwards. */
const discarded = "no json";

type Kept = { readonly raw: string; request: string; replayed: boolean };

/** An error table and the list of requests in memory: both survive the workers. */
class MemoryErrors {
  readonly rows = new Map<string, Kept>(payloads.map((raw, at) => [`row${at}`, { raw, request: "", replayed: false }]));
  readonly requests = new Map<string, ErrorRequest>();

  constructor() {
    this.#add("one", "replay");
    this.#add("two", "replay");
    this.#add("three", "discard");
  }

  #add(id: string, kind: ErrorRequest["kind"]): void {
    const none = { selectedRows: null, replayedRows: null, refusedRows: null, reason: null, finishedAt: null };
    const common = { pipeId: "pipe", selection: {}, requestedBy: "me", createdAt: "2026-01-01T00:00:00Z" };
    this.requests.set(id, { id, kind, ...common, state: "pending", ...none });
  }

  change(id: string, change: Partial<ErrorRequest>): void {
    this.requests.set(id, { ...(this.requests.get(id) as ErrorRequest), ...change });
  }

  #selected({ kind }: ErrorRequest): [string, Kept][] {
    return [...this.rows].filter(([, row]) => !row.replayed && (kind === "replay" || row.raw === discarded));
  }

  readonly access: RefusedRowsAccess = {
    count: async (request) => this.#selected(request).length,
    next: async (request, after: RowPosition | undefined) => {
      const left = this.#selected(request).filter(
        ([id, row]) => row.request !== request.id && (after === undefined || id > after.id),
      );
      const ids = left.slice(0, batchRows).map(([id]) => id);
      const last = ids.at(-1);
      return { ids, last: last === undefined ? undefined : { ms: "0", id: last } };
    },
    read: async (ids) =>
      ids.flatMap((id) => {
        const row = this.rows.get(id);
        return row === undefined ? [] : [{ id, bytes: Buffer.from(row.raw), facts: {} }];
      }),
    mark: ({ request, rows }, refused: RefusedReplays) => ({
      sql: JSON.stringify({
        mark: request,
        landed: rows.filter((id) => !refused.has(id)),
        refused: [...refused.keys()],
      }),
      key: "mark",
    }),
    remove: () => ({ sql: JSON.stringify({ remove: discarded }), key: "remove" }),
    outcome: async ({ id }) => ({
      replayedRows: [...this.rows.values()].filter((row) => row.request === id && row.replayed).length,
      refusedRows: [...this.rows.values()].filter((row) => row.request === id && !row.replayed).length,
    }),
  };

  /** Runs a statement that is not an insert of rows. */
  run(statement: { mark?: string; landed?: string[]; refused?: string[]; remove?: string }): void {
    const { mark, landed = [], refused = [], remove } = statement;
    for (const id of [...landed, ...refused]) {
      const row = this.rows.get(id) as Kept;
      row.request = mark as string;
      row.replayed ||= landed.includes(id);
    }
    for (const [id, row] of this.rows) if (row.raw === remove && !row.replayed) this.rows.delete(id);
  }
}

const bad = () => new ClickHouseError(27, 400, "Code: 27. Cannot parse");
const query: Query = async (sql) => {
  if (sql.startsWith("SELECT number") || sql.includes('"bad"')) throw bad();
  return [];
};

describeSource("replays and discards", () => {
  const errors = new MemoryErrors();
  const tokens = new Map<string, readonly string[]>();
  let seen: World | undefined;
  const isStatement = (insert: Insert) => insert.sql.startsWith("{");
  const rowsOf = (insert: Insert) =>
    isStatement(insert)
      ? []
      : String(insert.body?.())
          .split("\n")
          .filter((line) => line !== "");
  return {
    durable: errorRequestShapes,
    async open(world) {
      seen = world;
      const rows = await messageFormatOf({ format: "JSONEachRow" }, new Dialer(anyNetwork.policy, "x"));
      const replay = new MessageReplay(rows as never, keptColumns({}), {
        network: anyNetwork,
        target: testDestination,
        query,
      });
      const requests = {
        list: async () => [...errors.requests.values()].filter(({ state }) => state === "pending"),
        find: async (id: string) => errors.requests.get(id) as ErrorRequest,
        sized: async (id: string, count: number) => {
          const { selectedRows } = errors.requests.get(id) as ErrorRequest;
          if (selectedRows === null) errors.change(id, { selectedRows: count });
          return selectedRows ?? count;
        },
        finish: async (id: string, outcome: ErrorOutcome) => errors.change(id, { state: "done", ...outcome }),
      };
      return new ErrorRequestsSource({ requests, rows: errors.access, replay, now: () => 1 }) as never;
    },
    expected: ['{"a":"1"}', '{"a":"2"}', '{"a":"3"}', '{"a":"4"}', '{"a":"5"}'],
    rowsOf: async (insert) => rowsOf(insert),
    engineError: (rows) => (rows.some((row) => row.includes("bad")) ? bad() : undefined),
    tables: {
      insert(insert, token) {
        if (isStatement(insert)) errors.run(JSON.parse(insert.sql));
        else if (!tokens.has(token)) tokens.set(token, rowsOf(insert));
      },
      shown: () => [...tokens.values()].flat(),
      get problems() {
        const states = [...errors.requests.values()].map(({ id, state, selectedRows, replayedRows, refusedRows }) =>
          [id, state, selectedRows, replayedRows, refusedRows].join(),
        );
        const left = [...errors.rows.values()].filter(({ replayed }) => !replayed).map(({ raw }) => raw);
        const counts = [seen?.counts.replayedRows, seen?.counts.discardedRows, seen?.counts.sentRows].join();
        const found = [...states, ...left, counts];
        const wanted = ["one,done,8,5,3", "two,done,3,0,3", "three,done,1,,", '{"a":"bad"}', '{"a":"bad"}', "5,1,0"];
        return found.filter((text, at) => text !== wanted[at]);
      },
    },
  };
});
