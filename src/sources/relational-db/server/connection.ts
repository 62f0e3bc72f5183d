/** Connections whose values are printed in the one way, and COPY as bytes. */
import type pg from "pg";
import type { SourceServer } from "../declaration/kind.ts";
import { idleTimeoutMsOf } from "./defaults.ts";
import { postgresSourceError } from "./errors.ts";
import { isQueryActive, type SourceClient } from "./keepalive.ts";
import { type LoginOptions, login } from "./login.ts";
import { sessionSql } from "./session.ts";

const loginTimeoutMs = 20_000;

/** A connected client with the session of `sessionSql`; end it yourself. Throws AppError SOURCE_*. */
export async function connect(server: SourceServer, options: LoginOptions = {}): Promise<SourceClient> {
  const timeout = new AbortController();
  using _ = setTimeout(() => timeout.abort(), loginTimeoutMs);
  const client = await login(server, options, timeout.signal);
  if (options.unguarded !== true) {
    client.breakWhenIdle(idleTimeoutMsOf(server), async (pid) => await asksFor(server, pid));
  }
  await client.query(sessionSql).catch(async (error: unknown) => {
    await client.end().catch(() => {});
    throw postgresSourceError(error);
  });
  return client;
}

/** Asks on a connection of its own, which must not be silent for longer than the one in question. */
async function asksFor(server: SourceServer, pid: number): Promise<boolean> {
  const timeout = AbortSignal.timeout(Math.min(loginTimeoutMs, idleTimeoutMsOf(server)));
  await using client = await login(server, {}, timeout);
  return await isQueryActive(client, pid);
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
      handleError: (error) => reject(failure ?? postgresSourceError(error)),
    };
    client.query(handler);
  });
}
