/** Connections whose values are printed in the one way, and COPY as bytes. */
import type pg from "pg";
import type { SourceServer } from "../kind.ts";
import { silenceMsOf } from "./defaults.ts";
import { sourceError } from "./errors.ts";
import { isAtWork, type SourceClient } from "./lifeline.ts";
import { type LoginOptions, login } from "./login.ts";
import { sessionSql } from "./session.ts";

const loginTimeoutMs = 20_000;

/** A connected client with the session of `sessionSql`; end it yourself. Throws AppError SOURCE_*. */
export async function connect(server: SourceServer, options: LoginOptions = {}): Promise<SourceClient> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), loginTimeoutMs);
  try {
    const client = await login(server, options, timeout.signal);
    if (options.unguarded !== true) {
      client.guard(silenceMsOf(server), async (pid) => await asksFor(server, pid));
    }
    await client.query(sessionSql).catch(async (error: unknown) => {
      await client.end().catch(() => {});
      throw sourceError(error);
    });
    return client;
  } finally {
    clearTimeout(timer);
  }
}

/** Asks on a connection of its own, which must not be silent for longer than the one in question. */
async function asksFor(server: SourceServer, pid: number): Promise<boolean> {
  const timeout = AbortSignal.timeout(Math.min(loginTimeoutMs, silenceMsOf(server)));
  const client = await login(server, {}, timeout);
  try {
    return await isAtWork(client, pid);
  } finally {
    await client.end().catch(() => {});
  }
}

/** What `pg` calls on a query that is its own protocol handler. */
type Handler = pg.Submittable & {
  handleCopyData(message: { chunk: Buffer }): void;
  handleCommandComplete(): void;
  handleReadyForQuery(): void;
  handleError(error: Error): void;
};

/**
 * Runs `COPY ... TO STDOUT` or `START_REPLICATION`; resolves at its end. The chunks are views that are overwritten
 * after the call: one row, or one message, each.
 */
export function copyOut(client: pg.Client, sql: string, take: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let failure: unknown;
    const handler: Handler = {
      submit: (connection) => connection.query(sql),
      handleCopyData: ({ chunk }) => {
        if (failure !== undefined) return;
        try {
          take(chunk);
        } catch (error) {
          failure = error;
          void client.end().catch(() => {});
        }
      },
      handleCommandComplete: () => {},
      handleReadyForQuery: () => (failure === undefined ? resolve() : reject(failure)),
      handleError: (error) => reject(failure ?? sourceError(error)),
    };
    client.query(handler);
  });
}
