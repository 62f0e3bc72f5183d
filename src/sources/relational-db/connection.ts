/** Connections to the source: settings, errors in words of ours, COPY as bytes. */
import pg from "pg";
import { AppError } from "../../lib/errors.ts";
import type { RelationalDbConfig } from "./kind.ts";
import { sessionSql } from "./session.ts";

const connectTimeoutMs = 10_000;

export type ConnectOptions = {
  /** A connection of the replication protocol. */
  readonly replication?: boolean;
};

/** A connected client whose session prints values in the one way. Throws AppError SOURCE_*. */
export async function connect(config: RelationalDbConfig, options: ConnectOptions = {}): Promise<pg.Client> {
  const client = new pg.Client(clientConfig(config, options));
  // Without a listener a lost connection would end the process; whoever uses the client sees it in its query.
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query(sessionSql);
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    throw sourceError(error);
  }
}

function clientConfig(config: RelationalDbConfig, { replication }: ConnectOptions): pg.ClientConfig {
  return {
    host: config.host,
    port: config.port ?? 5432,
    database: config.database,
    user: config.credentials?.username,
    password: config.credentials?.password,
    application_name: "millrace",
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    ...(config.disableTls === true ? { ssl: false } : { ssl: tlsOptions(config) }),
    ...(replication === true ? { replication: "database" } : {}),
  } as pg.ClientConfig;
}

function tlsOptions(config: RelationalDbConfig) {
  return {
    rejectUnauthorized: config.skipCertVerification !== true,
    ...(config.caCertificate === undefined ? {} : { ca: config.caCertificate }),
    servername: config.tlsHost ?? config.host,
  };
}

/** Rights and logins that are refused. */
const unauthorized = /^(28|42501)/;
/** Names that are missing, statements that are wrong, a slot that cannot be used any more: waiting does not help. */
const invalid = /^(42|3D|3F|22|0A)/;

/** What the source says, as an error of ours. */
export function sourceError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const { code = "", message = String(error) } = error as { code?: string; message?: string };
  const sentence = `Postgres: ${message}`;
  if (unauthorized.test(code)) return new AppError("SOURCE_UNAUTHORIZED", sentence, { cause: error });
  if (invalid.test(code)) return new AppError("SOURCE_INVALID", sentence, { cause: error });
  return new AppError("SOURCE_UNREACHABLE", sentence, { cause: error });
}

/** What `pg` calls on a query that is its own protocol handler. */
type Handler = pg.Submittable & {
  handleCopyData(message: { chunk: Buffer }): void;
  handleCommandComplete(): void;
  handleReadyForQuery(): void;
  handleError(error: Error): void;
};

/**
 * Runs `COPY ... TO STDOUT` or `START_REPLICATION`; resolves at its end. The chunks are views that are overwritten after
 * the call: one row, or one message, each.
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
