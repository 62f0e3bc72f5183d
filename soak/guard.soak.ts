/**
 * Two hundred thousand random statements for the guard; accepted ones run on a genuine engine in a temporary
 * directory. No canary is reached: a file, a path to write, a listener, and the data of another engine. Nothing
 * written as forbidden is accepted, and our tokens of the engine's canonical text equal the engine's own. A share of
 * both kinds goes through the front of the native protocol, which judges them again: what is forbidden is not run. At
 * the end it prints how often each kind of node was written, and fails when one never was. `SEED` repeats a run,
 * `COUNT` and `RUNS` bound it.
 */
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text as bodyText } from "node:stream/consumers";
import { numberOf, seedOf } from "../harness/bounds.ts";
import { BareEngine } from "../harness/engine/bare-engine.ts";
import { type QueryParts, quoted } from "../harness/native/client.ts";
import { NativeFront } from "../harness/native/front.ts";
import { Dice } from "../harness/random.ts";
import { type Canonical, canonicalBatch } from "../harness/sql/canonical-batch.ts";
import { Grammar, type Statement } from "../harness/sql/grammar.ts";
import { mutated } from "../harness/sql/spelling.ts";
import { anyKind } from "../harness/sql/statements.ts";
import { ClickHouseError } from "../src/clickhouse/client.ts";
import { ClickHouseException } from "../src/clickhouse/exception.ts";
import { serverPackets } from "../src/endpoint/native/hello.ts";
import { Guard, type StatementVerdict } from "../src/engine/sql/guard.ts";
import { guardQueryOf } from "../src/engine/sql/judge.ts";
import { nodeKinds } from "../src/engine/sql/lists/lists.ts";
import { isPlainKeyword, plainFacts } from "../src/engine/sql/plain-statement.ts";
import { readStatement } from "../src/engine/sql/read-statement.ts";
import { insertHeads } from "../src/engine/sql/text/insert-data.ts";
import { readCanonical, type SqlToken } from "../src/engine/sql/text/tokens.ts";
import { readTree, walk } from "../src/engine/sql/tree/read-tree.ts";

export const description = "200,000 statements: what is forbidden never passes, and no canary is reached";

const seed = seedOf();
const count = numberOf("COUNT", 200_000);
const maxRuns = numberOf("RUNS", 30_000);
const batchSize = 400;
const lanes = 4;
const canaryText = "CANARY-guard-soak";
/** The share of what is run, and of what is forbidden. */
const nativeShare = 0.2;
const nativeForbidden = 0.1;
/** A truncated answer would prove nothing. */
const bounds = { max_execution_time: "2", max_memory_usage: "400000000", max_result_rows: "10000" };

/** The engine's message when a statement has reached for a file or a server, even for a missing one. */
const reached =
  /Cannot open file|No such file|errno|FILE_DOESNT_EXIST|Connection refused|NETWORK_ERROR|NO_REMOTE_SHARD/;

type Tally = {
  judged: number;
  parsed: number;
  forbidden: number;
  passed: number;
  ran: number;
  native: number;
  nativeRefused: number;
  answered: number;
  longestMs: number;
};

export async function run(): Promise<Record<string, string | number>> {
  console.log(`SEED=${seed} COUNT=${count} RUNS=${maxRuns}`);
  const started = Date.now();
  await using engine = await BareEngine.start();
  await using other = await BareEngine.start();
  await using front = await NativeFront.start(engine);
  const stage = await prepare(engine, other);
  const dice = new Dice(seed);
  const counts: Tally = {
    judged: 0,
    parsed: 0,
    forbidden: 0,
    passed: 0,
    ran: 0,
    native: 0,
    nativeRefused: 0,
    answered: 0,
    longestMs: 0,
  };
  try {
    while (counts.judged < count) {
      const batch = Array.from({ length: batchSize }, (_, at) => {
        // Each of the fixed statements once, so that also a short run writes every kind of node.
        const fixed = anyKind[counts.judged + at];
        return fixed === undefined ? write(dice, stage.canaries) : { text: fixed, params: {}, dangerous: false };
      });
      await judgeBatch({ engine, front }, batch, counts, dice);
      stage.check();
      if (counts.judged % 20_000 === 0) console.log(JSON.stringify({ ...counts, seconds: secondsSince(started) }));
    }
    await stage.checkOther();
  } finally {
    stage.close();
  }
  reportNodes();
  return { seed, ...counts, longestMs: Math.round(counts.longestMs), seconds: secondsSince(started) };
}

/** How often each kind of node was in the tree of a statement. */
const nodes = new Map<string, number>([...nodeKinds.all].map((kind) => [kind, 0]));

function countNodes(tree: string): void {
  try {
    for (const [{ kind }] of walk(readTree(tree))) nodes.set(kind, (nodes.get(kind) ?? 0) + 1);
  } catch {
    // The guard refuses such a tree.
  }
}

function reportNodes(): void {
  const rows = [...nodes].sort(([, a], [, b]) => b - a);
  console.log(rows.map(([kind, found]) => `${String(found).padStart(8)} ${kind}`).join("\n"));
  const never = rows.filter(([, found]) => found === 0).map(([kind]) => kind);
  if (never.length > 0) throw new Error(`never written: ${never.join(", ")}`);
}

async function prepare(engine: BareEngine, other: BareEngine) {
  const visits: string[] = [];
  const listener = createServer((request, response) => {
    visits.push(request.url ?? "");
    response.end(canaryText);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  await other.client.command("CREATE TABLE x (a String) ENGINE = StripeLog");
  await other.client.command(`INSERT INTO x VALUES ('${canaryText}')`);
  const paths = await other.client.text("SELECT arrayElement(data_paths, 1) FROM system.tables WHERE name = 'x'");
  const secret = join(engine.dir, "secret");
  const loot = join(engine.dir, "loot");
  writeFileSync(secret, canaryText);
  for (const table of ["t", "u"]) {
    await engine.client.command(
      `CREATE TABLE ${table} (a String, b String, c DateTime DEFAULT now()) ENGINE = MergeTree ORDER BY a`,
    );
    await engine.client.command(`INSERT INTO ${table} (a, b) VALUES ('1', '2'), ('x', 'y')`);
  }
  const { port } = listener.address() as AddressInfo;
  return {
    canaries: { files: [secret, join(paths.trim(), "data.bin")], loot, url: `http://127.0.0.1:${port}/canary` },
    check: () => {
      if (visits.length > 0) throw new Error(`the listener was asked for ${visits[0]}`);
      if (existsSync(loot)) throw new Error("a file was written");
      if (readFileSync(secret, "utf8") !== canaryText || statSync(secret).nlink !== 1)
        throw new Error("the secret was touched");
    },
    checkOther: async () => {
      const row = await other.client.text("SELECT * FROM x");
      if (row !== `${canaryText}\n`) throw new Error("the other engine's row was touched");
    },
    close: () => listener.close(),
  };
}

type Stage = Awaited<ReturnType<typeof prepare>>;

/** One statement; two of every five are changed at random, and then their classification is unknown. */
function write(dice: Dice, { files, loot, url }: Stage["canaries"]): Statement {
  const statement = new Grammar(dice, { file: dice.pick(files), loot, url }).statement();
  return dice.chance(0.4) ? { ...statement, text: mutated(dice, statement.text), dangerous: false } : statement;
}

type Servers = { readonly engine: BareEngine; readonly front: NativeFront };
type Run = { readonly statement: Statement; readonly verdict: StatementVerdict; readonly user: "default" | "reader" };

async function judgeBatch(servers: Servers, batch: readonly Statement[], counts: Tally, dice: Dice): Promise<void> {
  const { engine, front } = servers;
  const texts = batch.map(({ text }) => Buffer.from(text).toString("latin1"));
  const beginnings = texts.flatMap((text) => [...insertHeads(text)].map((head) => text.slice(0, head.headEnd)));
  const canonical = await canonicalBatch(engine.client, [...new Set([...texts, ...beginnings])]);
  for (const one of canonical.values()) checkReading(one);
  for (const [text, { text: own }] of canonical) if (own !== undefined) checkShortWay(text, own);
  const guard = new Guard({ guardQuery: answering(engine, canonical) });
  const passed: Run[] = [];
  const forbidden: Statement[] = [];
  for (const [at, statement] of batch.entries()) {
    counts.judged += 1;
    const parsed = canonical.get(texts[at] as string)?.text !== undefined;
    if (parsed) counts.parsed += 1;
    if (parsed && statement.dangerous) {
      counts.forbidden += 1;
      if (dice.chance(nativeForbidden)) forbidden.push(statement);
    }
    const user = dice.chance(0.3) ? "reader" : "default";
    const start = performance.now();
    const verdict = await judge(guard, statement, user);
    counts.longestMs = Math.max(counts.longestMs, performance.now() - start);
    if (verdict === undefined) continue;
    if (statement.dangerous) throw new Error(`passed the guard: ${JSON.stringify(statement.text)}`);
    counts.passed += 1;
    const { text, again } = canonical.get(texts[at] as string) ?? {};
    if (again !== undefined && again !== text) {
      throw new Error(
        `${JSON.stringify(statement.text)} becomes ${JSON.stringify(text)}, and that ${JSON.stringify(again)}`,
      );
    }
    if (verdict.addresses.length === 0) passed.push({ statement, verdict, user });
  }
  // A share of every batch, so that the whole run reaches its number.
  const wanted = Math.ceil((maxRuns * batch.length) / count);
  const running = passed.filter(() => dice.chance(wanted / passed.length));
  const jobs = [
    ...running.map((one) =>
      dice.chance(nativeShare) ? () => runNative(front, counts, one) : () => runOne(engine, counts, one),
    ),
    ...forbidden.map((one) => () => refuseNative(front, counts, one)),
  ];
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (let next = jobs.pop(); next !== undefined; next = jobs.pop()) await next();
    }),
  );
}

async function judge(guard: Guard, statement: Statement, user: string): Promise<StatementVerdict | undefined> {
  try {
    return await guard.judge({
      text: Buffer.from(statement.text),
      complete: true,
      params: Object.entries(statement.params),
      settings: [],
      readonly: user === "reader",
      get: false,
    });
  } catch (error) {
    if (error instanceof ClickHouseException) return undefined;
    throw new Error(`the guard broke at ${JSON.stringify(statement.text)}`, { cause: error });
  }
}

/** The engine's answers; those of the batch from memory. */
function answering(engine: BareEngine, canonical: ReadonlyMap<string, Canonical>) {
  const guardQuery = guardQueryOf(engine.client);
  return async (statement: string, params?: Readonly<Record<string, string>>): Promise<string> => {
    if (statement.startsWith("EXPLAIN AST ")) {
      const tree = await once(() => guardQuery(statement, params));
      countNodes(tree);
      return tree;
    }
    const quoted =
      /^(?:WITH|SELECT formatQuerySingleLine\()\s?'([\s\S]*)'(?: AS t SELECT concat\(formatQuerySingleLine\(t\)|\) FORMAT RawBLOB)/.exec(
        statement,
      )?.[1];
    const known = quoted === undefined ? undefined : canonical.get(quoted.replace(/\\([\s\S])/g, "$1"));
    if (known === undefined) return await once(() => guardQuery(statement, params));
    if (known.text === undefined) throw new ClickHouseException(62, "SYNTAX_ERROR", "Syntax error");
    return statement.startsWith("WITH") ? `${known.text}\n${JSON.stringify(known.quotes)}` : known.text;
  };
}

/** A kept connection may have been closed by the engine: what changes nothing is sent once more. */
async function once<T>(ask: () => Promise<T>): Promise<T> {
  return await ask().catch(async (error: unknown) => {
    if (error instanceof ClickHouseError || error instanceof ClickHouseException) throw error;
    return await ask();
  });
}

/** Our tokens of a canonical text are the engine's. */
function checkReading({ text, tokens }: Canonical): void {
  if (text === undefined) return;
  let ours: SqlToken[];
  try {
    ours = readCanonical(text);
  } catch {
    // Text that cannot be read is refused.
    return;
  }
  const wanted: string[] = [];
  let parameter = 0;
  const parameters = ours.filter(({ kind }) => kind === "parameter");
  for (const [from, to] of tokens) {
    while ((parameters[parameter]?.end ?? Number.POSITIVE_INFINITY) <= from) parameter += 1;
    // The engine's lexer splits a parameter into several tokens.
    if (from < (parameters[parameter]?.start ?? Number.POSITIVE_INFINITY)) wanted.push(`${from}-${to}`);
  }
  const plain = ours.filter(({ kind }) => kind !== "parameter").map(({ start, end }) => `${start}-${end}`);
  if (plain.join() !== wanted.join())
    throw new Error(`other tokens in ${JSON.stringify(text)}: ${plain} and ${wanted}`);
}

/** What the fast path accepts, the slow path accepts too, with the same facts. */
function checkShortWay(text: string, own: string): void {
  const short = plainFacts(text);
  if (short === undefined) return;
  const long = readStatement(own);
  const same = short.kind === long.kind && short.readOnly === long.readOnly && short.format === long.format;
  // `* * EXCEPT(a)` calls a function of that name, which does not exist.
  const unknown = [...long.unknown].filter((name) => !isPlainKeyword(name));
  if (!same || unknown.length + long.identifiers.size + long.nested.length + long.addresses.size > 0) {
    throw new Error(`the short way sees ${JSON.stringify(text)} otherwise`);
  }
}

async function runOne(engine: BareEngine, counts: Tally, { statement, verdict, user }: Run): Promise<void> {
  counts.ran += 1;
  const compute: Record<string, string> = verdict.expressions ? { input_format_values_interpret_expressions: "1" } : {};
  const settings = { ...bounds, ...compute, wait_end_of_query: "1" };
  const send = async () =>
    await engine
      .clientOf(user)
      .stream("", { body: Buffer.from(statement.text), params: { ...statement.params }, settings })
      .then(bodyText);
  const answer = await (verdict.kind === "read" ? once(send) : send())
    .then((text) => {
      counts.answered += 1;
      return text;
    })
    .catch((error: unknown) => {
      if (error instanceof ClickHouseError) return error.message;
      throw new Error(`the engine broke at ${JSON.stringify(statement.text)}`, { cause: error });
    });
  checkAnswer(statement, user, answer);
}

function checkAnswer(statement: Statement, user: string, answer: string): void {
  if (!answer.includes(canaryText) && !reached.test(answer.replaceAll(statement.text, ""))) return;
  throw new Error(`reached: ${JSON.stringify(statement)} as ${user}: ${answer.slice(0, 500)}`);
}

/** What is accepted runs over the native protocol too, and reaches nothing there either. */
async function runNative(front: NativeFront, counts: Tally, { statement, verdict, user }: Run): Promise<void> {
  counts.native += 1;
  const { bytes } = await front.run(user, statement.text, partsOf(statement), { endsData: verdict.kind === "insert" });
  checkAnswer(statement, user, bytes.toString());
}

async function refuseNative(front: NativeFront, counts: Tally, statement: Statement): Promise<void> {
  counts.nativeRefused += 1;
  const { bytes, hasRun } = await front.run("default", statement.text, partsOf(statement));
  if (hasRun || bytes[0] !== serverPackets.exception) {
    throw new Error(`passed over native: ${JSON.stringify(statement.text)}`);
  }
}

function partsOf({ params }: Statement): QueryParts {
  return {
    settings: Object.entries(bounds),
    parameters: Object.entries(params).map(([name, value]) => [name, quoted(value)]),
  };
}

function secondsSince(started: number): number {
  return Math.round((Date.now() - started) / 1000);
}
