/**
 * Postgres creates a slot when all transactions that were open before have ended. While it waits, they are named: by
 * their processes, and never with the text of a query, which contains data.
 */
import type pg from "pg";
import type { SourceServer } from "../declaration/kind.ts";
import { connect } from "./connection.ts";
import type { SourceClient } from "./keepalive.ts";

const firstLookMs = 1_000;
const everyMs = 5_000;
const named = 3;

/** Sets or clears a sentence that the user sees. */
export type TellWaiting = (message?: string) => void;

type OpenTransaction = {
  /** Null for a prepared transaction. */
  readonly pid: number | null;
  readonly gid: string | null;
  /** Null without the right to see other users' sessions. */
  readonly user: string | null;
  readonly application: string | null;
  readonly state: string | null;
  readonly seconds: number | null;
};

/** Runs the command of the client that creates a slot. */
export async function namingWhatItWaitsFor<T>(
  server: SourceServer,
  client: SourceClient,
  tell: TellWaiting,
  command: () => Promise<T>,
): Promise<T> {
  const began = performance.now();
  let looking: Promise<void> = Promise.resolve();
  const look = async () => {
    const message = await waitsFor(server, client.serverPid, performance.now() - began).catch(() => undefined);
    if (!isOver) tell(message);
    if (!isOver) plan(everyMs);
  };
  const plan = (ms: number) => {
    timer = setTimeout(() => {
      looking = look();
    }, ms);
  };
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  plan(firstLookMs);
  try {
    return await command();
  } finally {
    isOver = true;
    clearTimeout(timer);
    tell();
    await looking;
  }
}

async function waitsFor(server: SourceServer, pid: number, elapsedMs: number): Promise<string | undefined> {
  await using client = await connect(server);
  return sentenceOf(await openTransactions(client, pid, elapsedMs));
}

/** The holders of transaction ids that began before the process `pid` began to wait; none when it does not wait. */
async function openTransactions(client: pg.Client, pid: number, elapsedMs: number): Promise<OpenTransaction[]> {
  const { rows } = await client.query<OpenTransaction>(
    `SELECT l.pid, p.gid, a.usename::text AS "user", a.application_name AS application, a.state,
       extract(epoch FROM now() - coalesce(a.xact_start, p.prepared))::float8 AS seconds
     FROM pg_catalog.pg_locks l
     LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
     LEFT JOIN pg_catalog.pg_prepared_xacts p ON l.pid IS NULL AND p.transaction = l.transactionid
     WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted AND l.pid IS DISTINCT FROM $1
       AND pg_catalog.cardinality(pg_catalog.pg_blocking_pids($1)) > 0
       AND (l.pid = ANY (pg_catalog.pg_blocking_pids($1))
         OR extract(epoch FROM now() - coalesce(a.xact_start, p.prepared)) * 1000 > $2)
     ORDER BY seconds DESC NULLS LAST`,
    [pid, elapsedMs],
  );
  return rows;
}

function sentenceOf(open: readonly OpenTransaction[]): string | undefined {
  if (open.length === 0) return undefined;
  const list = open.slice(0, named).map(nameOf).join("; ");
  const more = open.length > named ? `; and ${open.length - named} more` : "";
  return `The slot waits until transactions end that were open before: ${list}${more}.`;
}

function nameOf({ pid, gid, user, application, state, seconds }: OpenTransaction): string {
  const who = pid === null ? `prepared transaction "${gid}"` : `pid ${pid}${user === null ? "" : ` of user ${user}`}`;
  const what = [application, state].filter((word) => word !== null && word !== "");
  const how = what.length === 0 ? "" : ` (${what.join(", ")})`;
  return `${who}${how}${seconds === null ? "" : `, open for ${Math.round(seconds)} s`}`;
}
