/**
 * Serves the queries of clients: finds the statement, has it judged, and forwards the request to the engine's own HTTP
 * interface as the principal's user. Nothing is added to a statement.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AccessChange } from "../../clickhouse/access-change.ts";
import { ClickHouseException, clickHouseException } from "../../clickhouse/exception.ts";
import { answerEmpty, queryIdHeader } from "../../endpoint/answer.ts";
import type { DatabasePrincipal } from "../../endpoint/auth/logins.ts";
import { forwardUpstream } from "../../endpoint/forward/forward-upstream.ts";
import type { Upstream } from "../../endpoint/forward/upstream.ts";
import { passedHeadersOf } from "../../endpoint/handoff/passed-headers.ts";
import type { QueryServer, ServeOptions } from "../../endpoint/handoff/query-server.ts";
import type { Splicer } from "../../endpoint/splice/splicer.ts";
import { type EngineUser, engineUserOf } from "../chdb/users.ts";
import type { DiskQuota } from "../disk-quota.ts";
import type { AsyncInserts } from "../inserts/async-inserts.ts";
import { newInsert, sessionOf } from "../inserts/collectable.ts";
import type { StatementKind } from "../sql/rules/facts.ts";
import type { InsertHead } from "../sql/text/insert-data.ts";
import { arrivingValues } from "./arriving-values.ts";
import { type IncomingQuery, isPlainBody, readIncomingQuery } from "./incoming-query.ts";
import { bytesOf, type Parameter, pathWith, readParameters, textOf } from "./parameters.ts";

/** Sessions that are remembered by name; beyond, every session is taken for one with settings of its own. */
const maxOwnSessions = 10_000;
export const waitForDrop = "database_atomic_wait_for_drop_and_detach_synchronously";

/**
 * The guard decides whether VALUES may hold expressions. The second setting gives them the types that a server gives
 * them.
 */
export const expressionSettings: readonly string[] = [
  "input_format_values_interpret_expressions",
  "input_format_values_deduce_templates_of_expressions",
];

/** The guard's result for a statement that may run. */
export type QueryVerdict = {
  readonly valuesMayCompute: boolean;
  /** Where the data of VALUES begins in the text when more of it follows, which is judged as it arrives. */
  readonly valuesFrom: number | undefined;
  /** True when the statement needs more disk. */
  readonly takesDisk: boolean;
  /** What a statement about users, roles or grants changes; such a statement is not run by the engine. */
  readonly access: AccessChange | undefined;
  readonly kind: StatementKind;
  /** An INSERT whose data begins at a known place has it. */
  readonly head: InsertHead | undefined;
};

export type Judge = {
  /** True when the text is an INSERT whose data has begun. */
  hasData(text: Buffer): boolean;
  /** Throws a ClickHouseException when the principal may not run the statement. */
  judge(request: {
    readonly text: Buffer;
    /** False when more insert data follows the text. */
    readonly whole: boolean;
    /** Includes duplicates: of two with the same name the engine uses one. */
    readonly params: readonly (readonly [name: string, value: string])[];
    readonly settings: readonly (readonly [name: string, value: string])[];
    readonly readonly: boolean;
    /** True for a user who has only what was granted. */
    readonly restricted: boolean;
    /** True for a request that may only read. */
    readonly get: boolean;
  }): Promise<QueryVerdict>;
};

export type QueryServiceOptions = {
  /** The engine's HTTP interface. */
  readonly upstream: Upstream;
  readonly splicer: Splicer;
  readonly key: string;
  /** The users that the engine was started with. */
  readonly users: readonly EngineUser[];
  readonly judge: Judge;
  /** Checked before a statement that needs more disk. */
  readonly disk: Pick<DiskQuota, "isFull" | "requireRoom">;
  /** Undefined: each insert runs as it comes. */
  readonly inserts: AsyncInserts | undefined;
  /**
   * Applies a statement about users, roles or grants. Resolves when later statements of clients have the new rights;
   * rejects with the exception for the client.
   */
  readonly changeAccess: (change: AccessChange) => Promise<void>;
  /** Cancels a query whose client has disconnected. Never rejects. */
  readonly kill: (user: string, queryId: string) => Promise<void>;
};

export class QueryService implements QueryServer {
  readonly #options: QueryServiceOptions;
  /** Sessions that may have settings, tables or a database of their own. */
  readonly #ownSessions = new Set<string>();

  constructor(options: QueryServiceOptions) {
    this.#options = options;
  }

  /** Rejects with an exception to send, and only before any part of the response is sent. */
  async serve(
    message: IncomingMessage,
    response: ServerResponse,
    principal: DatabasePrincipal,
    { signal, onStatement }: ServeOptions,
  ): Promise<void> {
    const parameters = withQueryId(readParameters((message.url ?? "").split("?").slice(1).join("?")));
    try {
      await this.#serve(message, response, principal, parameters, { signal, onStatement });
    } catch (error) {
      if (!response.headersSent) response.setHeader(queryIdHeader, queryIdOf(parameters));
      throw error;
    }
  }

  async #serve(
    message: IncomingMessage,
    response: ServerResponse,
    principal: DatabasePrincipal,
    parameters: readonly Parameter[],
    { signal, onStatement }: ServeOptions,
  ): Promise<void> {
    const incoming = await readIncomingQuery(message, parameters, (text) => this.#options.judge.hasData(text));
    onStatement?.(incoming.text);
    const verdict = await this.#judge(message, incoming, principal);
    const { valuesMayCompute, valuesFrom, takesDisk, access } = verdict;
    if (access !== undefined) {
      requireAdministrator(principal);
      await this.#options.changeAccess(access);
      response.setHeader(queryIdHeader, queryIdOf(parameters));
      answerEmpty(message, response);
      return;
    }
    if (takesDisk) this.#options.disk.requireRoom();
    const collected =
      (await this.#flush(principal, incoming, verdict)) ??
      (await this.#collect(message, principal, incoming, verdict, signal));
    if (collected !== undefined) return answerInsert(response, queryIdOf(parameters), collected);
    const arrives = valuesFrom !== undefined && isPlainBody(message, incoming.parameters);
    const forwarded = arrives ? arrivingValues(message, incoming, valuesFrom) : incoming.forwarded;
    await this.#pass(message, response, principal, forwarded, valuesMayCompute || arrives, signal);
  }

  async settle(): Promise<void> {
    await this.#options.inserts?.flush();
  }

  /** `SYSTEM FLUSH ASYNC INSERT QUEUE`: the engine's own queue does not exist. Others have no right to it. */
  async #flush(
    { restricted }: DatabasePrincipal,
    { text }: IncomingQuery,
    { kind }: QueryVerdict,
  ): Promise<EmptyAnswer | undefined> {
    if (kind !== "system" || restricted || !/^\s*SYSTEM\s+FLUSH\s+ASYNC\b/i.test(text.toString("latin1")))
      return undefined;
    await this.settle();
    return noAnswer;
  }

  /** Resolves when an asynchronous insert can be answered; with undefined for any other statement. */
  async #collect(
    { headers, method }: IncomingMessage,
    principal: DatabasePrincipal,
    incoming: IncomingQuery,
    { head, kind }: QueryVerdict,
    signal: AbortSignal,
  ): Promise<EmptyAnswer | undefined> {
    const { inserts, users } = this.#options;
    const session = sessionOf(incoming.parameters);
    const own = session === undefined ? undefined : `${principal.user}/${session}`;
    const isOwn = own !== undefined && (this.#ownSessions.has(own) || this.#ownSessions.size >= maxOwnSessions);
    if (own !== undefined && !isOwn && kind !== "read" && kind !== "insert") this.#ownSessions.add(own);
    if (head === undefined || method !== "POST" || inserts?.hasRoom !== true) return undefined;
    if (isOwn) return undefined;
    const insert = newInsert(incoming, head, { user: engineUserOf(users, principal), headers });
    if (insert === undefined) return undefined;
    const answered = await inserts.add(insert, signal);
    const { rows, data } = insert.piece;
    return { headers: answered, ...(insert.options.wait ? { rows, bytes: data.length } : { rows: 0, bytes: 0 }) };
  }

  async #judge(message: IncomingMessage, incoming: IncomingQuery, principal: DatabasePrincipal): Promise<QueryVerdict> {
    const params: [string, string][] = [];
    const settings: [string, string][] = [];
    for (const [name, value] of incoming.parameters) {
      if (name.startsWith("param_")) params.push([textOf(name.slice("param_".length)), textOf(value)]);
      else settings.push([textOf(name), textOf(value)]);
    }
    const get = message.method === "GET" || message.method === "HEAD";
    const { text, whole } = incoming;
    return await this.#options.judge.judge({
      ...{ text, whole, params, settings, get },
      readonly: principal.readonly > 0,
      restricted: principal.restricted,
    });
  }

  async #pass(
    message: IncomingMessage,
    response: ServerResponse,
    principal: DatabasePrincipal,
    forwarded: IncomingQuery["forwarded"],
    valuesMayCompute: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const { upstream, splicer, key, users, kill } = this.#options;
    const user = engineUserOf(users, principal);
    const parameters = this.#onward(forwarded.parameters, principal, user, valuesMayCompute);
    // Otherwise a dropped table keeps its disk for minutes, so that it can be undropped.
    if (this.#options.disk.isFull) parameters.push([waitForDrop, "1"]);
    // The default of a server, which the local tool replaces by TSV.
    if (!namesFormat(message, parameters)) parameters.push(["default_format", "TabSeparated"]);
    const headers = {
      ...passedHeadersOf(message.headers),
      ...forwarded.headers,
      // The engine writes it to its log. Clients cannot set it.
      "x-forwarded-for": principal.address,
      "x-clickhouse-user": user,
      "x-clickhouse-key": key,
    };
    const onGone = () => {
      if (!response.writableFinished) void kill(user, queryIdOf(parameters));
    };
    response.once("close", onGone);
    signal.addEventListener("abort", onGone, { once: true });
    const path = pathWith(parameters);
    const { first, rest } = forwarded;
    try {
      await forwardUpstream(
        { upstream, splicer, method: message.method ?? "GET", path, headers, body: { first, rest }, signal },
        response,
      );
    } catch (error) {
      if (rest?.errored instanceof ClickHouseException) throw rest.errored;
      if (error instanceof ClickHouseException) throw error;
      throw clickHouseException("NETWORK_ERROR", "The service's engine does not answer.", { cause: error });
    }
  }

  /** Users who share a stand-in must not share sessions. */
  #onward(
    parameters: readonly Parameter[],
    principal: DatabasePrincipal,
    user: string,
    valuesMayCompute: boolean,
  ): Parameter[] {
    const kept = parameters
      .filter(([name]) => !expressionSettings.includes(name))
      .map(([name, value]): Parameter => {
        return name === "session_id" && value !== "" && user !== principal.user
          ? [name, `${bytesOf(principal.user)}/${value}`]
          : [name, value];
      });
    if (valuesMayCompute) for (const name of expressionSettings) kept.push([name, "1"]);
    return kept;
  }
}

/** Only the user that every service has: users that it makes cannot make others. */
export function requireAdministrator({ user, readonly }: DatabasePrincipal): void {
  if (user === "default" && readonly === 0) return;
  throw clickHouseException("ACCESS_DENIED", "Only the user default manages users, roles and grants by statements.");
}

type EmptyAnswer = {
  readonly headers: Readonly<Record<string, string>>;
  readonly rows: number;
  readonly bytes: number;
};

function answerInsert(response: ServerResponse, queryId: string, { headers, rows, bytes }: EmptyAnswer): void {
  const written = { written_rows: String(rows), written_bytes: String(bytes) };
  response.writeHead(200, {
    ...headers,
    "Content-Length": "0",
    "X-ClickHouse-Query-Id": queryId.replace(/[^\x20-\x7e]/g, "?"),
    "X-ClickHouse-Summary": JSON.stringify({ read_rows: "0", read_bytes: "0", ...written }),
  });
  response.end();
}

const noAnswer: EmptyAnswer = {
  headers: { "Content-Type": "text/tab-separated-values; charset=UTF-8" },
  rows: 0,
  bytes: 0,
};

/** Every query gets an id, so that it can be cancelled when its client disconnects. */
function withQueryId(parameters: readonly Parameter[]): Parameter[] {
  const given = parameters.some(([name, value]) => name === "query_id" && value !== "");
  return given ? [...parameters] : [...parameters, ["query_id", randomUUID()]];
}

function namesFormat(message: IncomingMessage, parameters: readonly Parameter[]): boolean {
  return message.headers["x-clickhouse-format"] !== undefined || parameters.some(([name]) => name === "default_format");
}

function queryIdOf(parameters: readonly Parameter[]): string {
  return textOf(parameters.findLast(([name]) => name === "query_id")?.[1] ?? "");
}
