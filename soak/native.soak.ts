/**
 * Clients of the native protocol amid kills of the engine and of the control plane. `COUNT` connections have sessions
 * of their own; most of them rest, and others work. Beside them connections break off after every byte of the
 * handshake and of a query, fall silent there, or hide statements among their data. Nothing runs that was not judged,
 * the engine lives through all that clients do, resting sessions continue when it is killed, and nobody gets a wrong
 * answer or none: what is not answered ends with a clear exception or with its connection. Rows that were
 * acknowledged are there, and none is there twice. `SEED` repeats a run, `COUNT` and `ROUNDS` bound it.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { numberOf, seedOf } from "../harness/bounds.ts";
import { attacks, smuggledStatement } from "../harness/native/attacks.ts";
import {
  addendum,
  emptyData,
  hello,
  NativeClient,
  NativeError,
  newest,
  queryPacket,
} from "../harness/native/client.ts";
import { Dice } from "../harness/random.ts";
import { type BenchService, query, runningService, type Served, serve, until } from "../harness/serve.ts";
import { readServerHello } from "../src/endpoint/native/hello.ts";

export const description = "a thousand native connections, hostile ones among them, while engine and server are killed";

const seed = seedOf();
const count = numberOf("COUNT", 1_000);
const rounds = numberOf("ROUNDS", 6);
const faults = ["none", "engine", "control plane"] as const;
/** Logins at the same time: the gateway bounds those of one address. */
const lanes = 40;
const workingShare = 0.05;
const revisions = [54_441, 54_460, newest];
/** NETWORK_ERROR: the service is being stopped or started. */
const clear = new Set([210]);

type Fault = (typeof faults)[number];
type Member = { readonly name: string; readonly client: NativeClient };
type Totals = Record<"logins" | "continued" | "ended" | "refused" | "broken" | "silent" | "attacks" | "rows", number>;
type Stage = { served: Served; readonly service: BenchService; readonly port: number };

const dice = new Dice(seed);
const totals: Totals = {
  ...{ logins: 0, continued: 0, ended: 0, refused: 0, broken: 0, silent: 0, attacks: 0, rows: 0 },
};
/** Values that were sent, and those of them whose insert was answered. */
const sent = new Set<string>();
const acknowledged = new Set<string>();

export async function run(): Promise<Record<string, string | number>> {
  console.log(`SEED=${seed} COUNT=${count} ROUNDS=${rounds}`);
  const served = await serve({ env: { MILLRACE_LOG_LEVEL: "silent" } });
  const service = await runningService(served).catch(async (error) => {
    await served[Symbol.asyncDispose]();
    throw error;
  });
  const { endpoints } = await served.api.getService({ params: service.params });
  const stage: Stage = { served, service, port: endpoints.find(({ protocol }) => protocol === "native")?.port ?? 0 };
  let members: Member[] = [];
  try {
    await query(service, "CREATE TABLE target (s String) ENGINE = MergeTree ORDER BY s");
    for (let round = 0; round < rounds; round += 1) {
      const fault = faults[round % faults.length] as Fault;
      members = await soakRound(stage, members, round, fault);
      console.log(JSON.stringify({ round, fault, ...totals }));
    }
  } finally {
    for (const { client } of members) client.close();
    await stage.served[Symbol.asyncDispose]();
  }
  return { seed, rounds, ...totals };
}

/** Returns those whose connections are still open. */
async function soakRound(stage: Stage, before: readonly Member[], round: number, fault: Fault): Promise<Member[]> {
  const members = [...before, ...(await newMembers(stage, count - before.length, round))];
  const working = members.filter(() => dice.chance(workingShare));
  const resting = members.filter((member) => !working.includes(member));
  const engine = enginePid(stage);
  const done = new AbortController();
  const works = Promise.all(working.map((member) => work(member, done.signal, fault)));
  const hostile = Promise.all([breakOff(stage), fallSilent(stage), attack(stage, round)]);
  // They are waited for below.
  for (const early of [works, hostile]) early.catch(() => {});
  await delay(dice.below(3_000));
  await strike(stage, fault);
  await until("the service answers", async () => {
    return (await query(stage.service, "SELECT 1").catch(() => "")) === "1";
  });
  await finished(`hostile clients of round ${round}`, hostile);
  done.abort();
  const left = await finished(`clients that work in round ${round}`, works);
  const open = left.filter((member) => member !== undefined);
  if (fault === "none") {
    if (enginePid(stage) !== engine) throw new Error("the engine did not survive its clients");
  }
  const kept = await finished(
    `resting clients of round ${round}`,
    fault === "control plane" ? gone(resting) : same(resting),
  );
  await checkTables(stage);
  return [...open, ...kept];
}

async function strike(stage: Stage, fault: Fault): Promise<void> {
  if (fault === "engine") process.kill(enginePid(stage), "SIGKILL");
  else if (fault === "control plane") stage.served = await stage.served.restartAfterKill();
}

function enginePid({ served, service }: Stage): number {
  const file = join(served.dataDir, "services", service.id, "engine.pid");
  return (JSON.parse(readFileSync(file, "utf8")) as { pid: number }).pid;
}

async function newMembers(stage: Stage, wanted: number, round: number): Promise<Member[]> {
  const names = Array.from({ length: Math.max(0, wanted) }, (_, number) => `r${round}n${number}`);
  return await all(names, async (name) => {
    const client = await connect(stage, dice.pick(revisions.slice(1)));
    totals.logins += 1;
    await client.query(`SET param_p = '${name}'`);
    return { name, client };
  });
}

async function connect({ port, service }: Stage, revision: number): Promise<NativeClient> {
  return await NativeClient.connect({ port, password: service.password, revision });
}

/** Works until it is told to stop; undefined: the connection has ended. Rejects at a wrong answer. */
async function work(member: Member, signal: AbortSignal, fault: Fault): Promise<Member | undefined> {
  for (let step = 0; !signal.aborted; step += 1) {
    try {
      await delay(dice.below(100));
      await (step % 2 === 0 ? insertOne(member) : askOne(member));
    } catch (error) {
      if (fault === "none" || !(await isClearEnd(member, error))) throw error;
      if (!(error instanceof NativeError)) return undefined;
    }
  }
  return member;
}

async function insertOne({ name, client }: Member): Promise<void> {
  const value = `${name}-${sent.size}`;
  sent.add(value);
  const { exception } = await client.insert("INSERT INTO target VALUES", [value]);
  if (exception !== undefined) throw new NativeError(exception.code, exception.message);
  acknowledged.add(value);
  totals.rows += 1;
}

async function askOne({ name, client }: Member): Promise<void> {
  const rows = await client.query("SELECT {p:String} FROM numbers(20) WHERE sleepEachRow(0.002) = 0");
  if (rows.length !== 20 || rows.some(([own]) => own !== name)) throw new WrongAnswer(name, rows);
}

class WrongAnswer extends Error {
  constructor(name: string, rows: readonly string[][]) {
    super(`the client ${name} got ${JSON.stringify(rows).slice(0, 200)}`);
  }
}

/** A clear exception, or the end of the connection. */
async function isClearEnd({ client }: Member, error: unknown): Promise<boolean> {
  if (error instanceof NativeError) {
    totals.refused += 1;
    return clear.has(error.code);
  }
  if (error instanceof WrongAnswer) return false;
  await client.ended();
  totals.ended += 1;
  return true;
}

/** Resting sessions continue as if nothing had happened. */
async function same(members: readonly Member[]): Promise<Member[]> {
  return await all(members, async (member) => {
    await askOne(member);
    totals.continued += 1;
    return member;
  });
}

/** A control plane takes its connections with it. */
async function gone(members: readonly Member[]): Promise<Member[]> {
  await Promise.all(members.map(({ client }) => client.ended()));
  totals.ended += members.length;
  return [];
}

/** What a client says first, with a pause for the answer of the other side. */
function beginning({ service }: Stage, revision: number): readonly [login: Buffer, rest: Buffer, query: Buffer] {
  const ask = Buffer.concat([queryPacket("SELECT 1", revision), emptyData]);
  return [hello({ password: service.password, revision }), addendum(revision), ask];
}

/** Sends so many bytes of the beginning. Resolves when they are sent, or when there is nobody to send them to. */
async function begin(stage: Stage, length: number, revision = newest): Promise<NativeClient | undefined> {
  try {
    const client = await NativeClient.dial({ port: stage.port, revision });
    const [login, ...later] = beginning(stage, revision);
    if (length > 0) client.send(login.subarray(0, length));
    if (length > login.length) {
      await client.read((reader) => readServerHello(reader, client.revision));
      client.send(Buffer.concat(later).subarray(0, length - login.length));
    }
    return client;
  } catch {
    // The server is killed meanwhile.
    return undefined;
  }
}

/** Breaks off after every byte, with a reset or without. */
async function breakOff(stage: Stage): Promise<void> {
  const revision = dice.pick(revisions);
  const length = Buffer.concat([...beginning(stage, revision)]).length;
  const lengths = Array.from({ length: length + 1 }, (_, at) => at);
  await all(lengths, async (at) => {
    const client = await begin(stage, at, revision);
    if (client === undefined) return;
    totals.broken += 1;
    if (dice.chance(0.7)) client.reset();
    else client.close();
  });
}

/** Says nothing more, and does not leave. Who has not logged in is sent away. */
async function fallSilent(stage: Stage): Promise<void> {
  const [login, rest, ask] = beginning(stage, newest).map(({ length }) => length) as [number, number, number];
  const lengths = Array.from({ length: 100 }, () => dice.below(login + rest + ask));
  const silent = await all(lengths, async (at) => ({ at, client: await begin(stage, at) }));
  await Promise.all(
    silent.map(async ({ at, client }) => {
      if (client === undefined) return;
      if (at < login + rest) await client.ended();
      else client.close();
      totals.silent += 1;
    }),
  );
}

async function attack(stage: Stage, round: number): Promise<void> {
  await all(attacks, async ({ name, packets, leaves }) => {
    const revision = dice.pick(revisions);
    const client = await connect(stage, revision).catch(() => undefined);
    if (client === undefined) return;
    totals.attacks += 1;
    const table = `smuggled_${round}_${attacks.findIndex((one) => one.name === name)}`;
    const smuggled = Buffer.concat([queryPacket(smuggledStatement(table), client.revision), emptyData]);
    for (const packet of packets(client.revision, smuggled)) {
      client.send(packet);
      await delay(dice.below(60));
    }
    if (leaves === "reset") client.reset();
    else await delay(dice.below(200));
    client.close();
  });
}

async function checkTables({ service }: Stage): Promise<void> {
  const smuggled = await query(service, "SELECT name FROM system.tables WHERE name LIKE 'smuggled%' FORMAT TSV");
  if (smuggled !== "") throw new Error(`nobody has judged what made ${smuggled}`);
  // Data that attacks send is one letter, or a megabyte.
  const members = "s != 'a' AND length(s) < 1000";
  const found = await query(service, `SELECT s, count() FROM target WHERE ${members} GROUP BY s FORMAT TSV`);
  const lines = found === "" ? [] : found.split("\n");
  const counts = new Map(lines.map((line) => line.split("\t") as [string, string]));
  for (const value of acknowledged)
    if (counts.get(value) !== "1") throw new Error(`${value}: ${counts.get(value)} rows`);
  for (const [value, rows] of counts) {
    if (rows !== "1" || !sent.has(value)) throw new Error(`${value}: ${rows} rows that nobody sent`);
  }
}

/** Some at a time, in order. */
async function all<T, R>(items: readonly T[], job: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  const lane = async () => {
    for (const [at, item] of waiting) results[at] = await job(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}

/** Rejects when the work does not end: somebody waits for an answer that never comes. */
async function finished<T>(what: string, work: Promise<T>): Promise<T> {
  const state = { isOver: false };
  const settle = () => {
    state.isOver = true;
  };
  work.then(settle, settle);
  await until(`the end of the ${what}`, async () => state.isOver);
  return await work;
}
