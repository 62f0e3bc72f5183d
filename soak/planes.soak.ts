/**
 * Two servers and three workers on one metadata database, a primary with a synchronous standby, and twenty pipes of all
 * kinds into an external server. Everything is killed with -9 at random moments: servers, workers, children of both,
 * primary and standby, the external server, a Kafka broker and a source. The standby is promoted, processes are
 * suspended for longer than their leases, and the network between any two is cut. In the end every row is there exactly
 * once, with its content; no fence has had two holders (the database itself records them); a server that could answer
 * has answered; every pipe runs; and no worker process has ended by a fault of its own.
 *
 * `SEED` repeats a run, `SECONDS` bounds its faults (default 600), `FAULTS=promotion,cut` selects kinds of faults. A
 * run that fails keeps the logs of all processes, the times of the faults, and what the ledger says about the pipe.
 */
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { numberOf, seedOf } from "../harness/bounds.ts";
import { externalServiceOn } from "../harness/clickhouse/external-service.ts";
import { TestServer } from "../harness/clickhouse/server.ts";
import { kafkaMissing } from "../harness/kafka/kafka.ts";
import { kinesisMissing } from "../harness/kinesis/kinesis.ts";
import { requireTool } from "../harness/missing.ts";
import { Wire } from "../harness/network/wire.ts";
import { details } from "../harness/pipes.ts";
import { ApiWatch } from "../harness/planes/api-watch.ts";
import { Availability } from "../harness/planes/availability.ts";
import { type FaultKind, Faults, faultKinds } from "../harness/planes/faults.ts";
import { type PlanesFeed, planesDatabase, startPlanesFeeds } from "../harness/planes/feeds.ts";
import { writeFindings } from "../harness/planes/findings.ts";
import { Installation } from "../harness/planes/installation.ts";
import { MetadataPair } from "../harness/planes/metadata-pair.ts";
import { LeaseHistory } from "../harness/postgres/lease-history.ts";
import { postgresMissing } from "../harness/postgres/postgres.ts";
import { Dice } from "../harness/random.ts";
import { type BenchService, type Served, until } from "../harness/serve.ts";

export const description =
  "two servers and three workers on one database stay exactly-once under kills, suspensions, promotions and cuts";

const seconds = numberOf("SECONDS", 600);
const seed = seedOf();
const kinds = chosenKinds();
/** All pipes together have as long. */
const settleMs = 420_000;

type Fleet = {
  readonly folder: string;
  readonly clickhouse: TestServer;
  readonly metadata: MetadataPair;
  readonly installation: Installation;
  readonly feeds: readonly PlanesFeed[];
  readonly pipeIds: ReadonlyMap<PlanesFeed, string>;
  readonly service: BenchService;
};

export async function run(): Promise<Record<string, string | number>> {
  console.log(`SEED=${seed} SECONDS=${seconds} FAULTS=${kinds.join(",")}`);
  for (const reason of [kafkaMissing, kinesisMissing("kinesalite"), postgresMissing(18)]) requireTool(reason);
  const folder = mkdtempSync(join(tmpdir(), "millrace-planes-"));
  const tell = (line: string) => appendFileSync(join(folder, "faults.log"), `${new Date().toISOString()} ${line}\n`);
  try {
    const result = await runIn(folder, tell);
    rmSync(folder, { recursive: true });
    return result;
  } catch (error) {
    console.error(`SEED=${seed}; logs and findings are in ${folder}`);
    throw error;
  }
}

async function runIn(folder: string, tell: (line: string) => void) {
  await using stack = new AsyncDisposableStack();
  const dice = new Dice(seed);
  const metadata = stack.use(await MetadataPair.start("planes"));
  const history = await LeaseHistory.on(() => metadata.directUrl);
  const clickhouse = stack.use(await TestServer.start());
  const wire = stack.use(await Wire.start(clickhouse.ports.http));
  const { feeds, kafka, source, wires } = await startPlanesFeeds(clickhouse, stack);
  const installation = stack.use(await Installation.start(metadata.url, folder));
  const { api } = installation.servers[0] as Served;
  const reached = { client: clickhouse.client, url: `http://127.0.0.1:${wire.port}` };
  const service = await externalServiceOn(installation.servers[0] as Served, reached, planesDatabase);
  const pipeIds = new Map<PlanesFeed, string>();
  for (const feed of feeds) pipeIds.set(feed, (await api.createPipe({ params: service.params, body: feed.body })).id);
  const fleet = { folder, clickhouse, metadata, installation, feeds, pipeIds, service };
  const availability = new Availability(installation.servers.length);
  const watch = stack.use(new ApiWatch(installation, availability));
  const parts = { installation, metadata, availability, clickhouse, kafka, source, dice, tell };
  const faults = new Faults({ ...parts, wires: { ...wires, clickhouse: wire } }, kinds);
  stack.defer(() => faults.settle());
  const deadline = Date.now() + seconds * 1000;
  while (Date.now() < deadline) {
    for (const feed of feeds) await feed.grow(() => dice.next());
    await delay(dice.next() * 3_000);
    await faults.strike();
    await requireNoDoubles(fleet);
  }
  await faults.settle();
  tell("settling");
  const began = Date.now();
  await untilAllEqual(fleet);
  const settleSeconds = Math.round((Date.now() - began) / 1000);
  await untilAllRun(fleet);
  requireNoOwnFault(folder);
  const shared = await history.sharedFences();
  if (shared.length > 0) throw new Error(`fences with two holders: ${JSON.stringify(shared)}`);
  if (watch.unanswered.length > 0) {
    const { unanswered, asked } = watch;
    throw new Error(`${unanswered.length} of ${asked} requests got no answer:\n${unanswered.join("\n")}`);
  }
  const holders = (await history.holders("pipe")).length;
  const { asked, longestGapMs } = watch;
  const apiNumbers = { asked, answerP50: watch.quantile(0.5), answerP99: watch.quantile(0.99), longestGapMs };
  return { seed, seconds, pipes: feeds.length, holders, ...faults.counts, ...apiNumbers, settleSeconds };
}

/** Rows that are there twice never leave: the sooner they are seen, the more is known about them. */
async function requireNoDoubles(fleet: Fleet): Promise<void> {
  for (const feed of fleet.feeds) {
    const doubles = await feed.doubles();
    if (doubles > 0) throw new Error(`${feed.name} has ${doubles} rows too many; ${await findingsOf(fleet, feed)}`);
  }
}

async function untilAllEqual(fleet: Fleet): Promise<void> {
  const deadline = Date.now() + settleMs;
  for (const feed of fleet.feeds) {
    let seen = "";
    const isEqual = async () => {
      const { expected, found } = await feed
        .compare()
        .catch((error: Error) => ({ expected: "", found: error.message }));
      seen = `expected ${expected}, found ${found}`;
      return expected === found;
    };
    const left = Math.max(1_000, deadline - Date.now());
    await until(`${feed.name} is equal to its source`, isEqual, left).catch(async (error: Error) => {
      throw new Error([error.message, seen, await findingsOf(fleet, feed), ...(await statesOf(fleet))].join("\n"));
    });
  }
}

/** No pipe has stuck in a state of trouble, and its rows are accounted for. */
async function untilAllRun(fleet: Fleet): Promise<void> {
  const { service, pipeIds } = fleet;
  const served = fleet.installation.servers[0] as Served;
  const isRunning = async () => {
    const found = await Promise.all([...pipeIds.values()].map((id) => details(served, service, id)));
    return found.every(({ state }) => state === "Running");
  };
  await until("all pipes run", isRunning, settleMs).catch(async (error: Error) => {
    throw new Error([error.message, ...(await statesOf(fleet))].join("\n"));
  });
}

/** What was killed has said nothing: a worker process that did has ended by a fault of its own. */
function requireNoOwnFault(folder: string): void {
  for (const file of readdirSync(folder)) {
    const lines = readFileSync(join(folder, file), "utf8").split("\n");
    const fault = lines.find((line) => line.includes("cannot go on"));
    if (fault !== undefined) throw new Error(`${file}: ${fault}`);
  }
}

async function findingsOf({ folder, clickhouse, metadata, pipeIds }: Fleet, feed: PlanesFeed): Promise<string> {
  const pipeId = pipeIds.get(feed) ?? "";
  return await writeFindings(folder, feed.name, { metadataUrl: metadata.directUrl, clickhouse, pipeId });
}

async function statesOf({ installation, service }: Fleet): Promise<string[]> {
  const pipes = await (installation.servers[0] as Served).api.listPipes({ params: service.params });
  return pipes.map(({ name, state, lastError }) => `${name}: ${state} ${lastError ?? ""}`);
}

function chosenKinds(): readonly FaultKind[] {
  const text = process.env.FAULTS ?? "";
  if (text === "") return faultKinds;
  const chosen = text.split(",");
  const unknown = chosen.filter((kind) => !(faultKinds as readonly string[]).includes(kind));
  if (unknown.length > 0) throw new Error(`FAULTS has ${unknown.join(", ")}: it may have ${faultKinds.join(", ")}`);
  return chosen as FaultKind[];
}
