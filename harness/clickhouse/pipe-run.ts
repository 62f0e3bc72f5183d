/**
 * A pipe that runs in this process, against any server: its connector and its worker are the real ones, its ledger is
 * in memory. `interrupt` ends the worker in the middle of whatever it does; the next one begins with the saved intents.
 */
import type { z } from "zod";
import { createPipeBody } from "../../src/api/pipes.ts";
import type { ClickHouseAddress } from "../../src/clickhouse/client.ts";
import type { Json, JsonObject } from "../../src/lib/json.ts";
import { checkDefinition } from "../../src/pipes/control/definition/definition.ts";
import { type Intent, StoredForms } from "../../src/pipes/durable.ts";
import type { Calls, Job, WorkerStatus } from "../../src/pipes/protocol.ts";
import { runJob } from "../../src/pipes/worker/job.ts";
import { connectorOf } from "../../src/sources/connectors.ts";
import type { Connector } from "../../src/sources/contract/source.ts";
import type { StoredIntent } from "../../src/store/pipes/ledger-writes.ts";
import { anyNetwork } from "../network/network.ts";

type Define = (sql: string) => Promise<void>;

const hourMs = 3_600_000;
const limits = { sourceOutageMs: hourMs, sourceIdleTimeoutMs: 30_000, destinationOutageMs: hourMs, retryBaseMs: 200 };
const outgoing = { reach: ["any"], ownPorts: [], setting: "--pipe-source-networks" };

export class PipeRun implements AsyncDisposable {
  readonly #job: Job;
  readonly #address: ClickHouseAddress;
  readonly #define: Define | undefined;
  readonly #forms: StoredForms;
  readonly #intents = new Map<string, string>();
  readonly #checkpoints = new Map<string, string>();
  readonly #marks = new Map<string, string>();
  #stopping = new AbortController();
  #running: Promise<WorkerStatus> | undefined;
  #runs = 0;
  /** The last status that the worker told. */
  status: WorkerStatus | undefined;

  /** `define` executes the connector's statements that define tables, where the server cannot. */
  constructor(pipeId: string, body: z.input<typeof createPipeBody>, address: ClickHouseAddress, define?: Define) {
    const { kind, config, table, pipe } = checkDefinition("service", createPipeBody.parse(body));
    this.#forms = new StoredForms(kind.durable);
    this.#address = address;
    this.#define = define;
    this.#job = {
      ...{ task: "load", pipeId, epoch: 0, sourceKind: kind.key, config, table, limits, outgoing },
      ...{ destination: pipe.destination, settings: pipe.settings, scaling: pipe.scaling },
      ...{ organizationId: anyNetwork.organizationId, replica: { index: 0, count: 1, run: "0" }, fence: 1 },
    };
  }

  /** Number of batches that were begun and are not confirmed. */
  get openBatches(): number {
    return this.#intents.size;
  }

  start(): void {
    this.#runs += 1;
    this.#stopping = new AbortController();
    const job = { ...this.#job, replica: { index: 0, count: 1, run: String(this.#runs) } };
    const tell = (status: WorkerStatus) => {
      this.status = status;
    };
    const events = { tell, gauges: () => {} };
    const connect = async () => definingWith(await connectorOf(job.sourceKind), this.#define);
    this.#running = runJob(job, anyNetwork, connect, this.#calls(this.#stopping.signal), events, this.#stopping.signal);
    this.#running.catch(() => {});
  }

  /** Aborts requests in progress: the server may or may not have done them. */
  async interrupt(): Promise<void> {
    this.#stopping.abort();
    const running = this.#running;
    this.#running = undefined;
    await running?.catch(() => {});
  }

  /** The end of the pipe. Throws when it has failed. */
  async outcome(): Promise<WorkerStatus | undefined> {
    const status = await this.#running;
    if (status?.phase === "failed") throw new Error(status.reason);
    return status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.interrupt();
  }

  /** The ledger. After an interruption it refuses what the worker still asks for. */
  #calls(signal: AbortSignal): Calls {
    const guard = () => signal.throwIfAborted();
    const put = (intent: Intent) => this.#intents.set(intent.batchId, JSON.stringify(this.#forms.writeIntent(intent)));
    const note = (marks: Readonly<Record<string, Json>>) => {
      for (const [key, mark] of Object.entries(this.#forms.writeMarks(marks))) {
        if (mark === null) this.#marks.delete(key);
        else this.#marks.set(key, JSON.stringify(mark));
      }
    };
    const never = async () => {
      throw new Error("not in this run");
    };
    return {
      begin: async (intent) => {
        guard();
        put(intent);
      },
      replace: async (batchId, intents) => {
        guard();
        this.#intents.delete(batchId);
        for (const intent of intents) put(intent);
      },
      confirm: async (done) => {
        guard();
        const { checkpoint } = this.#forms.writeConfirmation(done);
        this.#intents.delete(done.batchId);
        if (checkpoint !== undefined) this.#checkpoints.set(done.lane, JSON.stringify(checkpoint));
        note(done.marks);
      },
      note: async (marks) => {
        guard();
        note(marks);
      },
      forget: async (lanes, marks) => {
        for (const lane of lanes) this.#checkpoints.delete(lane);
        for (const mark of marks) this.#marks.delete(mark);
      },
      intents: async () =>
        [...this.#intents.values()].map((text) => this.#forms.readIntent(JSON.parse(text) as StoredIntent)),
      checkpoints: async () => this.#forms.readCheckpoints(parsed(this.#checkpoints)),
      marks: async (keys) => {
        const found = [...this.#marks].filter(([key]) => keys.includes(key));
        return this.#forms.readMarks(parsed(new Map(found)));
      },
      acquire: async () => ({ lease: 1, address: this.#address }),
      release: async () => {},
      ...{
        errorRequests: async () => [],
        errorRequest: never,
        sizeErrorRequest: never,
        inboxFolder: never,
        inboxNews: never,
        inboxLoaded: never,
        finishErrorRequest: async () => {},
      },
      ...{ permitEngine: anyNetwork.permitEngine, listenForEngine: anyNetwork.listenForEngine },
    };
  }
}

function definingWith(connector: Connector, define: Define | undefined): Connector {
  if (define === undefined) return connector;
  return {
    ...connector,
    open: (config, context, signal) =>
      connector.open(config, { ...context, destination: { ...context.destination, define } }, signal),
  };
}

function parsed(texts: ReadonlyMap<string, string>): JsonObject {
  return Object.fromEntries([...texts].map(([key, text]) => [key, JSON.parse(text) as Json]));
}
