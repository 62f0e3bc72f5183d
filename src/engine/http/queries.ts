/**
 * Answers the queries of visitors: finds the statement, has it judged, and passes the request on to the engine's own
 * HTTP interface under the visitor's name. Nothing is added to a statement.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ClickHouseException, clickHouseException } from "../../clickhouse/exception.ts";
import type { Visitor } from "../../endpoint/auth/door.ts";
import type { QueryServer, ServeOptions } from "../../endpoint/handoff/query-server.ts";
import { forward } from "../../endpoint/proxy/forward.ts";
import type { Upstream } from "../../endpoint/proxy/upstream.ts";
import { type EngineUser, engineUserOf } from "../chdb/users.ts";
import type { DiskQuota } from "../disk-quota.ts";
import { type Gathered, gather } from "./gather.ts";
import { bytesOf, type Parameter, readParameters, textOf, writeParameters } from "./parameters.ts";

/** Request headers that mean something to the engine. Nothing else travels on. */
const passedHeaders = [
  "accept-encoding",
  "user-agent",
  "origin",
  "referer",
  "x-clickhouse-database",
  "x-clickhouse-format",
  "x-clickhouse-quota",
  "traceparent",
  "tracestate",
] as const;

const waitForDrop = "database_atomic_wait_for_drop_and_detach_synchronously";

/** Whether VALUES may hold expressions is the guard's to say. The second gives them the types that a server gives them. */
const expressionSettings: readonly string[] = [
  "input_format_values_interpret_expressions",
  "input_format_values_deduce_templates_of_expressions",
];

/** What a guard says of a statement that may run. */
export type Verdict = {
  readonly valuesMayCompute: boolean;
  /** True when it takes more disk. */
  readonly takesDisk: boolean;
};

export type Judge = {
  /** True when the text is an INSERT whose data has begun. */
  hasData(text: Buffer): boolean;
  /** Throws a ClickHouseException for what the visitor may not run. */
  judge(request: {
    readonly text: Buffer;
    /** False when more insert data follows the text. */
    readonly whole: boolean;
    /** Every one that was given: of two with the same name the engine takes one. */
    readonly params: readonly (readonly [name: string, value: string])[];
    readonly settings: readonly (readonly [name: string, value: string])[];
    readonly readonly: boolean;
  }): Promise<Verdict>;
};

export type QueriesOptions = {
  /** The engine's HTTP interface. */
  readonly upstream: Upstream;
  readonly key: string;
  /** The users that the engine was started with. */
  readonly users: readonly EngineUser[];
  readonly judge: Judge;
  /** Asked before a statement that takes more disk. */
  readonly disk: Pick<DiskQuota, "isFull" | "requireRoom">;
  /** Ends a query whose client has gone. Never rejects. */
  readonly kill: (user: string, queryId: string) => Promise<void>;
};

export class Queries implements QueryServer {
  readonly #options: QueriesOptions;

  constructor(options: QueriesOptions) {
    this.#options = options;
  }

  /** Rejects, only while nothing was sent back yet, with an exception to send. */
  async serve(
    message: IncomingMessage,
    response: ServerResponse,
    visitor: Visitor,
    { signal, onStatement }: ServeOptions,
  ): Promise<void> {
    const parameters = withQueryId(readParameters((message.url ?? "").split("?").slice(1).join("?")));
    const gathered = await gather(message, parameters, (text) => this.#options.judge.hasData(text));
    onStatement?.(gathered.text);
    const { valuesMayCompute, takesDisk } = await this.#judge(message, gathered, visitor);
    if (takesDisk) this.#options.disk.requireRoom();
    await this.#pass(message, response, visitor, gathered, valuesMayCompute, signal);
  }

  async #judge(message: IncomingMessage, gathered: Gathered, visitor: Visitor): Promise<Verdict> {
    const params: [string, string][] = [];
    const settings: [string, string][] = [];
    for (const [name, value] of gathered.parameters) {
      if (name.startsWith("param_")) params.push([textOf(name.slice("param_".length)), textOf(value)]);
      else settings.push([textOf(name), textOf(value)]);
    }
    const get = message.method === "GET" || message.method === "HEAD";
    const { text, whole } = gathered;
    return await this.#options.judge.judge({ text, whole, params, settings, readonly: visitor.readonly > 0 || get });
  }

  async #pass(
    message: IncomingMessage,
    response: ServerResponse,
    visitor: Visitor,
    { onward }: Gathered,
    valuesMayCompute: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const { upstream, key, users, kill } = this.#options;
    const user = engineUserOf(users, visitor.user, visitor.readonly > 0);
    const parameters = this.#onward(onward.parameters, visitor, user, valuesMayCompute);
    // Else a dropped table keeps its room for minutes, in case that somebody wants it back.
    if (this.#options.disk.isFull) parameters.push([waitForDrop, "1"]);
    // A server's default, which the local tool calls TSV.
    if (!namesFormat(message, parameters)) parameters.push(["default_format", "TabSeparated"]);
    const headers = { ...passed(message), ...onward.headers, "x-clickhouse-user": user, "x-clickhouse-key": key };
    const onGone = () => {
      if (!response.writableFinished) void kill(user, queryIdOf(parameters));
    };
    response.once("close", onGone);
    signal.addEventListener("abort", onGone, { once: true });
    const path = `/?${writeParameters(parameters)}`;
    const { first, rest } = onward;
    try {
      await forward(
        { upstream, method: message.method ?? "GET", path, headers, body: { first, rest }, signal },
        response,
      );
    } catch (error) {
      if (error instanceof ClickHouseException) throw error;
      throw clickHouseException("NETWORK_ERROR", "The service's engine does not answer.", { cause: error });
    }
  }

  /** A stand-in's sessions must not be another visitor's. */
  #onward(parameters: readonly Parameter[], visitor: Visitor, user: string, valuesMayCompute: boolean): Parameter[] {
    const kept = parameters
      .filter(([name]) => !expressionSettings.includes(name))
      .map(([name, value]): Parameter => {
        return name === "session_id" && value !== "" && user !== visitor.user
          ? [name, `${bytesOf(visitor.user)}/${value}`]
          : [name, value];
      });
    if (valuesMayCompute) for (const name of expressionSettings) kept.push([name, "1"]);
    return kept;
  }
}

/** Every query gets an id, so that it can be ended when its client goes. */
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

function passed(message: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of passedHeaders) {
    const value = message.headers[name];
    if (typeof value === "string") headers[name] = value;
  }
  return headers;
}
