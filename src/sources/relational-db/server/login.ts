/** Logging in at the source: address, TLS, password. */
import net from "node:net";
import { createSecureContext } from "node:tls";
import type pg from "pg";
import { Dialer, type DialTarget } from "../../../outgoing/dialer.ts";
import type { RelationalDbConfig, SourceServer } from "../declaration/kind.ts";
import type { CopyFrames } from "../protocol/copy-frames.ts";
import { portOf } from "./defaults.ts";
import { invalid, loginError } from "./errors.ts";
import { SourceClient } from "./keepalive.ts";
import { limitMessages } from "./message-limits.ts";

export type LoginOptions = {
  /** A connection that also takes replication commands. */
  readonly replication?: boolean;
  /** Takes the rows of copies from the connection. */
  readonly frames?: CopyFrames;
  /** `application_name`. */
  readonly name?: string | undefined;
  /** The caller has an idle timeout of its own. */
  readonly unguarded?: boolean;
};

/** Less than a check of a definition may take, so that the address is named. */
const connectTimeoutMs = 8_000;

/**
 * A connected client; end it yourself. It is ended when the signal aborts. Throws the `AppError` of `loginError`.
 * Nothing is taken from the environment, from service files or from password files.
 */
export async function login(
  server: SourceServer,
  options: LoginOptions = {},
  signal?: AbortSignal,
): Promise<SourceClient> {
  const client = new SourceClient(clientOptions(server, options));
  limitMessages(client, (error) => client.drop(error));
  options.frames?.attach(client);
  // Without a listener a connection that breaks while it is idle would end the process.
  client.on("error", () => {});
  const drop = () => client.drop();
  signal?.addEventListener("abort", drop);
  client.once("end", () => signal?.removeEventListener("abort", drop));
  try {
    signal?.throwIfAborted();
    await client.connect();
    return client;
  } catch (error) {
    signal?.removeEventListener("abort", drop);
    drop();
    throw loginError(error, server.config);
  }
}

/** Settings for `new pg.Client(...)`. Throws AppError for a certificate that is none and for logins we cannot do. */
export function clientOptions({ config, network }: SourceServer, options: LoginOptions = {}): pg.ClientConfig {
  if (config.authentication === "IAM_ROLE") {
    throw invalid("authentication", "IAM_ROLE is not supported; give credentials with a password");
  }
  const { host, database, credentials, tlsHost } = config;
  const port = portOf(config);
  const dialer = new Dialer(network.policy, "source.relationalDb.host");
  const password = credentials?.password ?? "";
  const socket = config.disableTls === true ? options.frames?.socketOptions : undefined;
  return {
    // TLS asks for this name; the socket goes to `host` all the same.
    host: tlsHost ?? host,
    stream: () => socketTo(dialer, { host, port }, socket),
    port,
    database,
    user: credentials?.username ?? "",
    // A function, because an empty text would be looked up elsewhere.
    password: () => password,
    ssl: config.disableTls === true ? false : tlsOptions(config),
    application_name: options.name ?? "millrace",
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs,
    ...(options.replication === true ? { replication: "database" } : {}),
  } as pg.ClientConfig;
}

function tlsOptions({ caCertificate, skipCertVerification }: RelationalDbConfig) {
  if (caCertificate === undefined) return { rejectUnauthorized: skipCertVerification !== true };
  try {
    if (!caCertificate.includes("-----BEGIN CERTIFICATE-----")) throw new Error("no certificate");
    createSecureContext({ ca: caCertificate });
  } catch (cause) {
    throw invalid(
      "caCertificate",
      "is not a certificate; give it in PEM form, -----BEGIN CERTIFICATE----- included",
      cause,
    );
  }
  return { ca: caCertificate, rejectUnauthorized: skipCertVerification !== true };
}

/** A socket that connects to this address as the policy allows, whatever host or path the caller names. */
function socketTo(dialer: Dialer, target: DialTarget, options?: net.SocketConstructorOpts): net.Socket {
  const socket = new net.Socket(options);
  const connect = socket.connect.bind(socket);
  socket.connect = (() => dialer.attach(socket, target, connect)) as typeof socket.connect;
  return socket;
}
