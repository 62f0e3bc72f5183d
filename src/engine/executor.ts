/**
 * Runs one HTTP request on the engine: a connection of its own, a slot, the statement, and the bytes in and out. A
 * client that goes away takes its query with it, and an upload that breaks off never becomes a shorter insert.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { ClickHouseException, clickHouseException } from "../clickhouse/exception.ts";
import { isWord, tokenize } from "../clickhouse/lexer.ts";
import { identifier, literal } from "../clickhouse/sql.ts";
import type { Logger } from "../lib/logger.ts";
import type { BodyFile, BodyFiles } from "./body-files.ts";
import type { Engine, Fresh } from "./engine.ts";
import { clientQueryId, guardStatement, tagSetting } from "./guard.ts";
import { type InsertBody, insertSettings, runInsert } from "./insert.ts";
import type { Classification, Connection } from "./native.ts";
import { emptySummary, Reply, type ReplyFacts, type ReplyOptions, type Summary } from "./reply.ts";
import { type Caller, type QueryRequest, readRequest } from "./request.ts";
import { runSelect } from "./select.ts";
import { borrowSettings, Sessions } from "./sessions.ts";
import type { Slot, Slots } from "./slots.ts";
import { type InsertStatement, readInsert, readStatement, type Statement, withClientQueryIds } from "./statement.ts";
import { plainBody, Upload } from "./upload.ts";

/** The part of a body that must hold the head of an INSERT. */
const headBytes = 1_048_576;
/** The longest statement without inline data. */
const maxStatementBytes = 64 * 1_048_576;

export type ServerFacts = Omit<ReplyFacts, "queryId">;

/** Everything that the steps of one query share. */
export type Run = {
  readonly engine: Engine;
  readonly connection: Connection;
  readonly slot: Slot;
  readonly request: QueryRequest;
  readonly reply: Reply;
  /** Statements to run in front of the client's, each ending in `;`. */
  readonly prefix: string;
  /** Aborts when the client goes away or somebody replaces the query. */
  readonly signal: AbortSignal;
};

type Running = { readonly gone: AbortController; readonly user: string; readonly over: Promise<void> };

export class Executor {
  readonly #engine: Engine;
  readonly #slots: Slots;
  readonly #bodyFiles: BodyFiles;
  readonly #facts: ServerFacts;
  readonly #logger: Logger;
  readonly #sessions: Sessions;
  readonly #running = new Map<string, Running>();

  constructor(options: { engine: Engine; slots: Slots; bodyFiles: BodyFiles; facts: ServerFacts; logger: Logger }) {
    this.#engine = options.engine;
    this.#sessions = new Sessions(options.engine);
    this.#slots = options.slots;
    this.#bodyFiles = options.bodyFiles;
    this.#facts = options.facts;
    this.#logger = options.logger;
  }

  /** Answers one request. It ends early when `gone` is aborted, with the reason as its answer. Never rejects. */
  async serve(
    message: IncomingMessage,
    response: ServerResponse,
    caller: Caller,
    gone = new AbortController(),
  ): Promise<void> {
    let request: QueryRequest;
    let fresh: Fresh | undefined;
    try {
      request = readRequest(message, caller, () => {
        fresh = this.#engine.fresh();
        return fresh.queryId;
      });
    } catch (error) {
      message.resume();
      new Reply(response, { ...this.#facts, queryId: "" }, plainReply).fail(this.#asException(error));
      return;
    }
    const reply = new Reply(response, { ...this.#facts, queryId: request.queryId }, replyOptions(request));
    response.on("close", () => {
      if (!response.writableFinished) gone.abort(clickHouseException("QUERY_WAS_CANCELLED", "The client went away."));
    });
    let upload: Upload | undefined;
    let file: BodyFile | undefined;
    try {
      if (caller.bodyFile !== undefined) file = this.#bodyFiles.take(caller.bodyFile);
      upload = new Upload(
        Buffer.from(request.urlQuery === "" ? "" : `${request.urlQuery}\n`),
        plainBody(message, request),
      );
      const { statement, data } = await readBody(upload);
      const summary = await this.#run(request, reply, statement, data ? (file ?? upload) : undefined, gone, fresh);
      reply.finish(summary);
    } catch (error) {
      if (response.destroyed) return;
      await upload?.discard(maxStatementBytes).catch(() => {});
      message.resume();
      reply.fail(this.#asException(gone.signal.aborted ? gone.signal.reason : error));
    } finally {
      upload?.abandon();
      if (fresh !== undefined) this.#engine.retire(fresh.connection);
      await file?.done();
    }
  }

  async #run(
    request: QueryRequest,
    reply: Reply,
    statement: Statement,
    body: InsertBody | undefined,
    gone: AbortController,
    fresh: Fresh | undefined,
  ): Promise<Summary> {
    guardStatement(tokenize(plainText(statement)), request);
    const end = await this.#register(request, gone);
    try {
      const slot = await this.#slots.take(gone.signal);
      try {
        const settings = await insertSettings(statement, body);
        if (request.session !== undefined)
          return await this.#runInSession(request, reply, statement, body, slot, gone, settings);
        // The engine's parser works in a thread of its own while the connection is opened in this one.
        const classified = this.#engine.classify(plainText(statement));
        classified.catch(() => {});
        const connection = fresh?.connection ?? this.#engine.connect([tagOf(request)]);
        try {
          const run = {
            engine: this.#engine,
            connection,
            slot,
            request,
            reply,
            prefix: `${assign([...readonlyOf(request), ...settings])}${prefixOf(request)}`,
            signal: gone.signal,
          };
          return await runStatement(run, statement, body, await classified);
        } finally {
          if (fresh === undefined) this.#engine.retire(connection);
        }
      } finally {
        this.#slots.give(slot);
      }
    } finally {
      end();
    }
  }

  /** Like a request of its own, but settings are put back, and read-only by GET is checked instead of set. */
  async #runInSession(
    request: QueryRequest,
    reply: Reply,
    statement: Statement,
    body: InsertBody | undefined,
    slot: Slot,
    gone: AbortController,
    settings: readonly (readonly [string, string])[],
  ): Promise<Summary> {
    const { connection, release } = this.#sessions.take(request);
    let failed = true;
    let restore = "";
    try {
      const classified = await this.#engine.classify(plainText(statement));
      if (request.readonly > request.readonlyUser) mustRead(statement, classified);
      const own = [tagOf(request), ...settings];
      const names = [...new Set([...own, ...request.settings].map(([name]) => name))];
      restore = (await borrowSettings(this.#engine, connection, names))(literal);
      const prefix = `${assign(own)}${prefixOf(request)}`;
      const run = { engine: this.#engine, connection, slot, request, reply, prefix, signal: gone.signal };
      const summary = await runStatement(run, statement, body, classified);
      failed = false;
      return summary;
    } finally {
      const clean = await this.#settle(connection, restore, failed, statement);
      release(!clean);
    }
  }

  /**
   * Brings a session back to what its next request may find. After a failure its connection may still hold rows of the
   * failed query, which would come out in front of the next result: they are read away here.
   */
  async #settle(connection: Connection, restore: string, failed: boolean, statement: Statement): Promise<boolean> {
    try {
      const database = statement.kind === "other" && statement.verb === "USE" && !failed;
      const text = database ? restore.replace(/^USE [^;]*;/, "") : restore;
      for (let attempt = 0; attempt < 3; attempt += 1) {
        const result = await this.#engine.query(
          connection,
          `${attempt === 0 ? text : ""}SELECT 'clean'`,
          "TabSeparated",
        );
        if (result.bytes.toString() === "clean\n") return true;
      }
    } catch (error) {
      this.#logger.warn({ err: error }, "a session could not be restored");
    }
    return false;
  }

  /** Takes the query id, from the caller's own running query if it asked for that; gives it back with the result. */
  async #register(request: QueryRequest, gone: AbortController): Promise<() => void> {
    const { queryId, user, replaceRunning } = request;
    for (let other = this.#running.get(queryId); other !== undefined; other = this.#running.get(queryId)) {
      if (!replaceRunning || other.user !== user) {
        const text = `Query with id = ${queryId} is already running.`;
        throw clickHouseException("QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING", text);
      }
      other.gone.abort(clickHouseException("QUERY_WAS_CANCELLED", "Another query took the place of this one."));
      await other.over;
    }
    const { promise: over, resolve } = Promise.withResolvers<void>();
    this.#running.set(queryId, { gone, user, over });
    return () => {
      this.#running.delete(queryId);
      resolve();
    };
  }

  #asException(error: unknown): ClickHouseException {
    if (error instanceof ClickHouseException) return error;
    this.#logger.error({ err: error }, "request failed");
    return clickHouseException("UNKNOWN_EXCEPTION", "The request failed inside the server.", { cause: error });
  }
}

const plainReply = { holdBytes: 0, acceptEncoding: "", compress: false };

function replyOptions(request: QueryRequest): ReplyOptions {
  return { holdBytes: request.bufferBytes, acceptEncoding: request.acceptEncoding, compress: request.compress };
}

/** Reads the statement from URL and body. `data` is true when insert data follows in the upload. */
async function readBody(upload: Upload): Promise<{ statement: Statement; data: boolean }> {
  for (let want = 1; ; want = upload.held.length + 1) {
    await upload.hold(want);
    const text = upload.held.toString();
    const insert = readInsert(text, upload.ended);
    if (insert === undefined || (insert === "incomplete" && upload.ended)) break;
    if (insert !== "incomplete") {
      upload.drop(byteOffset(upload.held, text, insert.dataStart));
      return { statement: insert, data: true };
    }
    if (upload.held.length > headBytes) {
      throw clickHouseException("QUERY_IS_TOO_LARGE", "The head of the INSERT is larger than 1 MiB.");
    }
  }
  await upload.hold(maxStatementBytes);
  if (!upload.ended) throw clickHouseException("QUERY_IS_TOO_LARGE", "The statement is larger than 64 MiB.");
  const text = upload.held.toString();
  byteOffset(upload.held, text, text.length);
  return { statement: readStatement(text), data: false };
}

/** Characters to bytes; the bytes up to there must be valid UTF-8, or the engine would see another text than we. */
function byteOffset(bytes: Buffer, text: string, chars: number): number {
  const head = Buffer.from(text.slice(0, chars));
  if (head.includes(0) || !head.equals(bytes.subarray(0, head.length))) {
    throw clickHouseException("SYNTAX_ERROR", "Syntax error: the statement is not valid UTF-8 text.");
  }
  return head.length;
}

/** How KILL QUERY finds the query: a setting that a client cannot change. */
function tagOf(request: QueryRequest): [string, string] {
  return [tagSetting, request.queryId];
}

function readonlyOf(request: QueryRequest): [string, string][] {
  return request.readonly === 0 ? [] : [["readonly", String(request.readonly)]];
}

function assign(settings: readonly (readonly [string, string])[]): string {
  if (settings.length === 0) return "";
  return `SET ${settings.map(([name, value]) => `${name} = ${literal(value)}`).join(", ")};`;
}

/** What the client asked for. It comes after our own settings, which `guard.ts` keeps it from changing. */
function prefixOf(request: QueryRequest): string {
  const assignments = [
    ...request.settings.map(([name, value]) => `${name} = ${literal(value)}`),
    ...request.params.map(([name, value]) => `param_${name} = ${literal(value)}`),
  ];
  const use = request.database === undefined ? "" : `USE ${identifier(request.database)};`;
  return assignments.length === 0 ? use : `${use}SET ${assignments.join(", ")};`;
}

/** In a session read-only mode cannot be set for one request, so GET is checked instead. */
function mustRead(statement: Statement, { queryClass }: Classification): void {
  const harmless = statement.kind === "other" && (statement.verb === "SET" || statement.verb === "USE");
  if (queryClass === 0 || queryClass === 4 || harmless) return;
  const hint = "For queries over HTTP, method GET implies readonly. You should use method POST for modifying queries.";
  throw clickHouseException("READONLY", `Cannot execute query in readonly mode. ${hint}`);
}

async function runStatement(
  run: Run,
  statement: Statement,
  body: InsertBody | undefined,
  { statementCount, queryClass }: Classification,
): Promise<Summary> {
  const { request } = run;
  const plain = plainText(statement);
  if (statementCount > 1) throw clickHouseException("SYNTAX_ERROR", "Syntax error: multi-statements are not allowed.");
  const parses = queryClass !== 4;
  const kill = killWhenAborted(run);
  try {
    if (statement.kind === "insert" && body !== undefined) return await runInsert(run, statement, body, kill);
    const format = statementFormat(statement) ?? request.defaultFormat ?? "TabSeparated";
    run.reply.setFormat(format);
    if (statement.kind === "select" && parses && queryClass === 0) return await runSelect(run, statement, format);
    return await runOther(run, plain, parses, statement);
  } finally {
    kill.stop();
  }
}

/** The client's statement as the engine's parser should see it for a check. */
function plainText(statement: Statement): string {
  if (statement.kind === "insert") return `${statement.target} ${statement.settings} FORMAT ${insertFormat(statement)}`;
  return statement.kind === "select" ? statement.before + statement.after : statement.text;
}

export function insertFormat(statement: InsertStatement): string {
  if (!/^[A-Za-z0-9_]+$/.test(statement.format)) {
    throw clickHouseException("UNKNOWN_FORMAT", `Unknown format ${statement.format}`);
  }
  return statement.format;
}

function statementFormat(statement: Statement): string | undefined {
  return statement.kind === "insert" ? undefined : statement.format;
}

/** Everything that is neither a SELECT nor carries data. Results are small, and are read as one buffer. */
async function runOther(run: Run, text: string, parses: boolean, statement: Statement): Promise<Summary> {
  const { engine, connection, request, reply } = run;
  const format = request.defaultFormat ?? "TabSeparated";
  if (!parses) {
    // Alone, so that positions in the message count from the client's own text.
    if (run.prefix !== "") await engine.query(connection, run.prefix, format);
    await engine.query(connection, text, format);
    return emptySummary;
  }
  if (
    isWord(
      tokenize(text.slice(0, 4000)).find((token) => token.text !== "("),
      "INSERT",
    ) ||
    statement.kind === "insert"
  ) {
    const written = await engine.write(connection, run.prefix + text);
    return {
      ...emptySummary,
      writtenRows: written.rowsWritten,
      writtenBytes: written.bytesWritten,
      resultRows: written.rowsWritten,
    };
  }
  const sql = run.prefix + withClientQueryIds(text, clientQueryId);
  const result = await engine.query(connection, sql, format);
  if (result.bytes.length > 0) reply.write(result.bytes);
  return { ...emptySummary, readRows: result.rowsRead, readBytes: result.bytesRead };
}

export type KillSwitch = {
  /** Resolves once the engine has marked the query cancelled, or when the query is over. */
  readonly marked: () => Promise<void>;
  stop(): void;
};

/** From the signal's abort on, tells the engine again and again until the query is over. */
function killWhenAborted(run: Run): KillSwitch {
  let over = false;
  let marking: Promise<void> | undefined;
  const mark = async () => {
    while (!over && !(await run.engine.kill(run.request.queryId).catch(() => false))) await delay(50);
  };
  const onAbort = () => {
    marking ??= mark();
  };
  if (run.signal.aborted) onAbort();
  else run.signal.addEventListener("abort", onAbort);
  return {
    marked: async () => {
      onAbort();
      await marking;
    },
    stop: () => {
      over = true;
      run.signal.removeEventListener("abort", onAbort);
    },
  };
}
