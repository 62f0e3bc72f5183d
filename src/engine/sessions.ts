/**
 * HTTP sessions (`session_id`): a connection that outlives its request, so that temporary tables and SET survive. One
 * request at a time; the connection is closed when nothing came for the session's timeout.
 */
import { clickHouseException } from "../clickhouse/exception.ts";
import type { Engine } from "./engine.ts";
import type { Connection } from "./native.ts";
import type { QueryRequest } from "./request.ts";

type Session = {
  readonly connection: Connection;
  readonly readonly: number;
  busy: boolean;
  timer: NodeJS.Timeout | undefined;
};

const maxSessions = 1_000;

export class Sessions {
  readonly #engine: Engine;
  readonly #open = new Map<string, Session>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** The session's connection for one request, opened when it is new. Call `release` when the request is over. */
  take(request: QueryRequest): { connection: Connection; release(broken: boolean): void } {
    const { id, timeoutMs, check } = request.session as NonNullable<QueryRequest["session"]>;
    const key = `${request.user}\0${id}`;
    let session = this.#open.get(key);
    if (session === undefined) {
      if (check) throw clickHouseException("SESSION_NOT_FOUND", `Session ${id} not found.`);
      session = this.#start(key, request.readonlyUser);
    }
    if (session.busy) throw clickHouseException("SESSION_IS_LOCKED", `Session ${id} is locked by a concurrent client.`);
    session.busy = true;
    clearTimeout(session.timer);
    const held = session;
    return {
      connection: held.connection,
      release: (broken) => {
        held.busy = false;
        if (broken) this.#close(key, held);
        else held.timer = setTimeout(() => this.#close(key, held), timeoutMs);
      },
    };
  }

  #start(key: string, readonly: number): Session {
    if (this.#open.size >= maxSessions) {
      throw clickHouseException("TOO_MANY_SIMULTANEOUS_QUERIES", "Too many sessions are open.");
    }
    const settings: [string, string][] = readonly === 0 ? [] : [["readonly", String(readonly)]];
    const session: Session = { connection: this.#engine.connect(settings), readonly, busy: false, timer: undefined };
    this.#open.set(key, session);
    return session;
  }

  #close(key: string, session: Session): void {
    if (session.busy) return;
    this.#open.delete(key);
    this.#engine.close(session.connection);
  }
}

type Saved = { readonly name: string; readonly value: string; readonly changed: boolean };

/**
 * Applies a request's own settings to a session for the time of one request. Settings and database of the URL hold for
 * the query alone, so `restore` puts back what the session had.
 */
export async function borrowSettings(
  engine: Engine,
  connection: Connection,
  names: readonly string[],
): Promise<(text: (value: string) => string) => string> {
  const list = names.map((name) => `'${name}'`).join(", ");
  const result = await engine.query(
    connection,
    `SELECT currentDatabase() AS name, '' AS value, true AS changed UNION ALL
     SELECT name, value, changed FROM system.settings WHERE name IN (${list}) SETTINGS union_default_mode = 'ALL'`,
    "JSONEachRow",
  );
  const lines = result.bytes.toString().trim().split("\n");
  const saved = lines.map((line) => JSON.parse(line) as Saved);
  return (quote) => {
    const settings = saved.filter(({ name }) => names.includes(name));
    const database = saved.find(({ name }) => !names.includes(name));
    const assignments = settings.map(({ name, value, changed }) => `${name} = ${changed ? quote(value) : "DEFAULT"}`);
    const use = database === undefined ? "" : `USE \`${database.name.replaceAll("`", "\\`")}\`;`;
    return assignments.length === 0 ? use : `${use}SET ${assignments.join(", ")};`;
  };
}
