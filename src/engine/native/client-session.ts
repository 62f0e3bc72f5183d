/**
 * One connection of the native protocol: reads the client's packets, has its queries judged, and runs them on
 * connections of its own to the engine. No byte of a client reaches the engine before or beside a sealed query.
 */
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type ClickHouseException, clickHouseException } from "../../clickhouse/exception.ts";
import { plainAddress } from "../../endpoint/auth/access-list.ts";
import type { DatabasePrincipal } from "../../endpoint/auth/logins.ts";
import { clientAddressOf } from "../../endpoint/connections/client-address.ts";
import type { NativeConnection, NativeHooks } from "../../endpoint/handoff/native-server.ts";
import { MalformedPacket } from "../../endpoint/native/codec.ts";
import { exceptionPacket, shownException } from "../../endpoint/native/exception-packet.ts";
import { clientPackets, serverPackets } from "../../endpoint/native/hello.ts";
import { ClientGone, PacketInput } from "../../endpoint/native/input.ts";
import { logIn, stillLoggedIn } from "../../endpoint/native/login.ts";
import type { NativeSession } from "../../endpoint/native/session.ts";
import { engineUserOf, internalUser, sessionUserOf } from "../chdb/users.ts";
import { requireAdministrator } from "../http/query-service.ts";
import type { StatementVerdict } from "../sql/guard.ts";
import { refuse } from "../sql/rules/refusal.ts";
import { isKeyword } from "../sql/text/scan.ts";
import { readEmptyBlock } from "./blocks.ts";
import { KeptAnswers, settle, type Unsettled } from "./kept-answers.ts";
import type { NativeOptions } from "./options.ts";
import { type ClientQuery, readQuery, type SealedQuery } from "./query-packet.ts";
import { changedSession, tokensOf } from "./session-statement.ts";
import { ownSettings, withSession } from "./settings.ts";
import { type BeforeEnd, passSingle } from "./single-answer.ts";
import { tablesStatus } from "./tables-status.ts";
import { insertTemporary, isOld, temporaryName, temporaryTarget, wantsData } from "./temporary.ts";

/** A kept connection to the engine costs it a thread. */
const keptMs = 5_000;
/** The engine does not end the threads of many connections soon. */
const mostResting = 32;
/** How long the rest of a client's data is read after an exception, so that the client gets to read the exception. */
const lateDataMs = 3_000;
const limits = { packet: 1_048_576, string: 1_048_576 };
const endOfStream = Buffer.from([serverPackets.endOfStream]);
const pong = Buffer.from([serverPackets.pong]);

/** A query as it was judged, and may run. */
type Judged = {
  readonly session: NativeSession;
  readonly principal: DatabasePrincipal;
  readonly query: ClientQuery;
  readonly verdict: StatementVerdict;
  /** True when the client sends blocks behind it: external tables, or data that nobody has asked for. */
  readonly hasBlocks: boolean;
};

type Asked = Pick<Judged, "principal"> & Pick<ClientQuery, "settings">;

export class ClientSession implements NativeConnection, Unsettled {
  readonly #socket: Socket;
  readonly #input: PacketInput;
  readonly #hooks: NativeHooks;
  readonly #options: NativeOptions;
  readonly #address: string;
  #session: NativeSession | undefined;
  #kept: KeptAnswers | undefined;
  #keptTimer: NodeJS.Timeout | undefined;
  #asked: Asked | undefined;
  /** Present when the engine keeps a session for this client: the temporary tables that were created in it. */
  #temporary: Set<string> | undefined;
  #isHandling = true;
  #isRunning = false;

  constructor(socket: Socket, hooks: NativeHooks, options: NativeOptions) {
    this.#socket = socket;
    this.#hooks = hooks;
    this.#options = options;
    this.#address = plainAddress(clientAddressOf(socket));
    this.#session = hooks.session;
    this.#input = new PacketInput(socket, hooks.ahead);
    socket.once("close", () => this.#leave());
  }

  /** Serves the client until it is gone. Never rejects. */
  async run(): Promise<void> {
    try {
      const { logins } = this.#hooks;
      const { displayName } = this.#options;
      const onBegin = () => this.#tellBusy();
      this.#session ??= await logIn(this.#socket, this.#input, { logins, displayName, onBegin });
      if (this.#session === undefined) return;
      this.#hooks.onSession(this.#session);
      for (;;) await this.#next();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The id of the query whose end was not seen; undefined: none. */
  get unsettled(): string | undefined {
    return this.#kept?.unsettled;
  }

  /** What the engine says of the query that `unsettled` names. */
  settle(isRunning: boolean): void {
    if (!isRunning) this.#kept?.finish();
    else if (!this.#isRunning) this.#setRunning(true);
  }

  atRest(): number | undefined {
    if (this.#isHandling || this.#isRunning || !this.#input.isEmpty || this.#socket.destroyed) return undefined;
    return this.#input.received;
  }

  release(): boolean {
    if (this.atRest() === undefined) return false;
    if (this.#input.release().length > 0) return false;
    this.#socket.destroy();
    return true;
  }

  end(exception: ClickHouseException): void {
    this.#kept?.engine.end();
    if (this.#isRunning && this.#kept?.isUnderWay !== true) this.#socket.write(exceptionPacket(exception));
    this.#socket.destroySoon();
  }

  async #next(): Promise<void> {
    this.#setHandling(false);
    await this.#input.begin();
    this.#setHandling(true);
    const session = this.#session as NativeSession;
    const type = await this.#input.read((reader) => reader.varUint(), limits);
    if (type === clientPackets.query) return await this.#query(session);
    if (type === clientPackets.cancel) return void this.#kept?.engine.socket.write(Buffer.from([type]));
    if (type === clientPackets.ping) return this.#ping();
    if (type === clientPackets.tablesStatus)
      return void this.#socket.write(await this.#input.read(tablesStatus, limits));
    // The rest of an INSERT that has failed meanwhile.
    if (type === clientPackets.data) return await this.#closeLate();
    throw new MalformedPacket(`Unexpected packet of type ${type}.`);
  }

  /** A pong keeps its place among the packets of an answer. */
  #ping(): void {
    if (this.#isRunning) this.#kept?.engine.socket.write(Buffer.from([clientPackets.ping]));
    else this.#socket.write(pong);
  }

  async #query(session: NativeSession): Promise<void> {
    const query = await this.#input.read((reader) => readQuery(reader, session.revision), limits);
    // Answers that pass unread are those of the client's own revision, and such a query cannot have a seal.
    if (isOld(session)) this.#temporary ??= new Set();
    const hasBlocks = await this.#input.read((reader) => !readEmptyBlock(reader, query.compressed), limits);
    let principal: DatabasePrincipal | undefined;
    try {
      principal = stillLoggedIn(this.#hooks.logins, session, this.#address);
      await this.#judge(session, principal, query, hasBlocks);
    } catch (error) {
      const shown = shownException(error);
      if (shown === undefined) throw error;
      if (principal !== undefined) this.#hooks.logins.refused(shown.code, principal, shown.message);
      this.#socket.write(exceptionPacket(shown));
      if (principal === undefined) throw new ClientGone();
      if (hasBlocks) await this.#closeLate();
    }
  }

  /** Has the query judged, and runs it. Rejects with the exception for the client. */
  async #judge(
    session: NativeSession,
    principal: DatabasePrincipal,
    given: ClientQuery,
    hasBlocks: boolean,
  ): Promise<void> {
    const { guard, disk, changeAccess } = this.#options;
    this.#hooks.onStatement(given.text);
    const query = withSession(session, given);
    const verdict = await guard.judge({
      text: query.text,
      complete: true,
      params: query.parameters,
      settings: query.settings.map(({ name, value }) => [name, value] as const),
      readonly: principal.readonly > 0,
      restricted: principal.restricted,
      get: false,
    });
    if (verdict.access !== undefined) {
      requireAdministrator(principal);
      await changeAccess(verdict.access);
      return void this.#socket.write(endOfStream);
    }
    if (verdict.kind === "set" && !(await this.#changeSession(session, principal, query))) {
      return void this.#socket.write(endOfStream);
    }
    if (verdict.takesDisk) disk.requireRoom();
    if (verdict.kind === "define") await this.#noteTemporary(query);
    await this.#run({ session: this.#session as NativeSession, principal, query, verdict, hasBlocks });
  }

  /** Resolves with true when the engine must run the statement as well, because it keeps a session. */
  async #changeSession(session: NativeSession, principal: DatabasePrincipal, { text }: ClientQuery): Promise<boolean> {
    const { guardQuery, users, askAs } = this.#options;
    const tokens = await tokensOf(guardQuery, text);
    const isUse = isKeyword(tokens[0], "USE");
    if (isKeyword(tokens[1], "ROLE") || (isOld(session) && !isUse)) {
      this.#temporary ??= new Set();
      return true;
    }
    this.#session = await changedSession(session, tokens, askAs(engineUserOf(users, principal)));
    this.#hooks.onSession(this.#session);
    return this.#temporary !== undefined && isUse;
  }

  /** The engine keeps a session from the first temporary table on. */
  async #noteTemporary({ text }: ClientQuery): Promise<void> {
    const isLikely = /temporary/i.test(text.toString("latin1"));
    const name = isLikely ? temporaryName(await tokensOf(this.#options.guardQuery, text)) : undefined;
    if (name !== undefined) this.#temporary = new Set(this.#temporary).add(name);
  }

  async #run(judged: Judged): Promise<void> {
    const { session, query, verdict, hasBlocks } = judged;
    const isInsert = verdict.kind === "insert";
    const hasData = hasBlocks || wantsData(verdict, query.text);
    if (isOld(session) && hasBlocks && !isInsert) refuse("External tables need a client of 2020 or later.");
    const head = query.text.subarray(0, verdict.head?.headEnd);
    const { guardQuery } = this.#options;
    const table = isInsert && hasData ? await temporaryTarget(guardQuery, head, this.#temporary) : undefined;
    if (table !== undefined && hasBlocks) refuse("External tables cannot be inserted into a temporary table.");
    if (table !== undefined) await this.#insertTemporary(judged, table);
    else if (this.#temporary === undefined ? isInsert || hasBlocks : hasData) await this.#runOnce(judged);
    else await this.#runKept(judged);
  }

  /** The query as the engine gets it; `once`: on a connection of its own. */
  #sealed({ session, principal, query, verdict }: Judged, once: boolean): SealedQuery {
    const { users, disk } = this.#options;
    const facts = { valuesMayCompute: verdict.expressions, diskIsFull: disk.isFull, once, isOld: isOld(session) };
    return {
      ...query,
      id: query.id.length === 0 ? randomUUID() : query.id.toString(),
      user: engineUserOf(users, principal),
      address: { host: this.#address, port: this.#socket.remotePort ?? 0 },
      settings: [...query.settings, ...ownSettings(facts)],
    };
  }

  /** Data of a client into a temporary table. */
  async #insertTemporary(judged: Judged, table: string): Promise<void> {
    const kept = await this.#keep(judged);
    const query = this.#sealed(judged, false);
    const exception = await insertTemporary({
      ...{ table, client: this.#options.client, text: query.text },
      inSession: async (text) => await kept.insert({ ...query, text }),
      withData: async (text, beforeEnd) => {
        await this.#runOnce(judged, { text, id: randomUUID(), user: internalUser }, beforeEnd);
      },
    });
    if (exception !== undefined) this.#socket.write(exception);
  }

  async #runKept(judged: Judged): Promise<void> {
    const kept = await this.#keep(judged);
    clearTimeout(this.#keptTimer);
    this.#asked = { principal: judged.principal, settings: judged.query.settings };
    kept.query(this.#sealed(judged, false));
  }

  async #keep({ session: { database, revision }, principal }: Judged): Promise<KeptAnswers> {
    const { pool, users } = this.#options;
    const user = this.#temporary && sessionUserOf(users, principal);
    const present = this.#kept;
    const held = present?.options;
    if (held?.user !== undefined && held.user !== user) {
      throw clickHouseException("AUTHENTICATION_FAILED", "The rights of the user have changed: connect again.");
    }
    const fits = held?.user === user && (user !== undefined || held?.database === database);
    if (fits && present?.engine.isOpen === true) return present;
    present?.engine.end();
    this.#kept = undefined;
    const engine = await pool.open(revision, database, user).catch((error: unknown) => {
      this.#temporary = undefined;
      throw error;
    });
    const kept = new KeptAnswers(engine, this.#socket, {
      ...{ database, user },
      onRest: (atRest) => {
        if (this.#kept !== kept) return;
        this.#setRunning(!atRest);
        if (user !== undefined) return;
        this.#tellResting(atRest);
        clearTimeout(this.#keptTimer);
        this.#keptTimer = setTimeout(() => (atRest ? this.dropKept() : this.#askEngine()), atRest ? keptMs : 1_000);
      },
      onException: (code) => this.#hooks.logins.refused(code, principal),
    });
    engine.socket.once("close", () => {
      if (this.#kept !== kept) return;
      this.#kept = undefined;
      if (!this.#isRunning) return;
      if (kept.isUnderWay || this.#asked === undefined) return void this.#socket.destroySoon();
      this.#refuse(this.#asked).catch((error: unknown) => this.#fail(error));
    });
    if (this.#socket.destroyed) engine.end();
    else this.#kept = kept;
    return kept;
  }

  /** Ends the connection to the engine. The next query opens another one. */
  dropKept(): void {
    this.#tellResting(false);
    this.#kept?.engine.end();
    this.#kept = undefined;
  }

  #tellResting(atRest: boolean): void {
    const { resting } = this.#options;
    resting.delete(this);
    if (atRest) resting.add(this);
    const [longest] = resting;
    if (resting.size > mostResting) longest?.dropKept();
  }

  /** An answer that has ended otherwise than with the usual byte. */
  #askEngine(): void {
    void settle(this.#options.client, [this]).finally(() => {
      if (this.#isRunning) this.#keptTimer = setTimeout(() => this.#askEngine(), 1_000);
    });
  }

  /** On a connection of its own; `other` is what differs from the query that was judged. */
  async #runOnce(judged: Judged, other?: Partial<SealedQuery>, beforeEnd?: BeforeEnd): Promise<void> {
    const { pool, splicer } = this.#options;
    const { session, principal, verdict, hasBlocks } = judged;
    const query = { ...this.#sealed(judged, true), ...other };
    const engine = await pool.takeForOne(session.revision, session.database);
    this.#setRunning(true);
    try {
      engine.query(query, hasBlocks);
      const way = { client: this.#socket, input: this.#input, engine, splicer, compressed: query.compressed };
      const kind = { isInsert: verdict.kind === "insert", isOld: isOld(session), beforeEnd };
      const { code, isClean, isSilent } = await passSingle({ ...way, ...kind });
      if (isSilent) await this.#refuse({ principal, settings: query.settings });
      if (code !== undefined) this.#hooks.logins.refused(code, principal);
      if (!isClean) await this.#closeLate();
    } finally {
      this.#setRunning(false);
    }
  }

  /** The engine ends a connection without a word when it cannot read a setting; over HTTP it says why. */
  async #refuse({ principal, settings }: Asked): Promise<void> {
    const { askAs, users } = this.#options;
    const given = Object.fromEntries(settings.map(({ name, value }) => [name, value]));
    const why = await askAs(engineUserOf(users, principal))("SELECT 1", given).then(() => undefined, shownException);
    if (why !== undefined && this.#socket.writable) throw why;
    this.#socket.destroySoon();
  }

  /** Reads what the client still sends, and ends the connection: nobody knows where its data would end. */
  async #closeLate(): Promise<never> {
    this.#input.passTo(() => {});
    if (!this.#input.isGone) await delay(lateDataMs, undefined, { ref: false });
    throw new ClientGone();
  }

  #fail(error: unknown): void {
    const shown = shownException(error);
    if (shown !== undefined) this.#socket.write(exceptionPacket(shown));
    else if (!(error instanceof ClientGone)) {
      this.#options.logger.error({ err: error }, "native connection failed");
      const text = "The query failed inside the server.";
      this.#socket.write(exceptionPacket(clickHouseException("UNKNOWN_EXCEPTION", text)));
    }
    this.#socket.destroySoon();
  }

  #leave(): void {
    clearTimeout(this.#keptTimer);
    this.dropKept();
    this.#setRunning(false);
  }

  #setHandling(isHandling: boolean): void {
    this.#isHandling = isHandling;
    this.#tellBusy();
  }

  #setRunning(queryRuns: boolean): void {
    // What the engine keeps for a client is lost when it idles.
    const isRunning = queryRuns || this.#kept?.options.user !== undefined;
    if (this.#isRunning === isRunning) return;
    this.#isRunning = isRunning;
    this.#hooks.onRunning(isRunning);
    this.#tellBusy();
  }

  #tellBusy(): void {
    this.#hooks.onBusy(this.#isHandling || this.#isRunning);
  }
}
