/** The faults that an installation must survive. Those that last go on while others happen. */
import { setTimeout as delay } from "node:timers/promises";
import type { TestServer } from "../clickhouse/server.ts";
import type { TestKafka } from "../kafka/kafka.ts";
import { portsOf, processTree } from "../network/process-ports.ts";
import type { CutKind, Wire } from "../network/wire.ts";
import type { TestPostgres } from "../postgres/postgres.ts";
import type { Dice } from "../random.ts";
import type { Availability } from "./availability.ts";
import { type Installation, nameOf, type PlanesNode } from "./installation.ts";
import type { MetadataPair } from "./metadata-pair.ts";

export const faultKinds = [
  "server",
  "worker",
  "child",
  "suspension",
  "cut",
  "primary",
  "standby",
  "promotion",
  "clickhouse",
  "kafka",
  "source",
] as const;
export type FaultKind = (typeof faultKinds)[number];

/** Longer than a lease. */
const suspendMs = 18_000;
const longestCutMs = 40_000;
/** Until every process has noticed that its primary has vanished. */
const noticeMs = 15_000;

export type PlanesParts = {
  readonly installation: Installation;
  readonly metadata: MetadataPair;
  readonly availability: Availability;
  readonly clickhouse: TestServer;
  readonly kafka: TestKafka;
  /** The source of the Postgres pipes. */
  readonly source: TestPostgres;
  /** What processes connect to, besides the metadata. */
  readonly wires: Readonly<Record<string, Wire>>;
  readonly dice: Dice;
  readonly tell: (line: string) => void;
};

type Lasting = { readonly node: PlanesNode | undefined; readonly done: Promise<void> };

export class Faults {
  readonly counts: Record<FaultKind, number>;
  readonly #parts: PlanesParts;
  readonly #kinds: readonly FaultKind[];
  #due: FaultKind[] = [];
  readonly #lasting = new Map<FaultKind, Lasting>();
  readonly #isOver = new AbortController();

  constructor(parts: PlanesParts, kinds: readonly FaultKind[]) {
    this.#parts = parts;
    this.#kinds = kinds;
    this.counts = Object.fromEntries(faultKinds.map((kind) => [kind, 0])) as Record<FaultKind, number>;
  }

  /** Injects one fault: every kind comes before one comes again. Resolves when it has ended, or goes on by itself. */
  async strike(): Promise<void> {
    if (this.#due.length === 0) this.#due = [...this.#kinds];
    const [kind] = this.#due.splice(this.#parts.dice.below(this.#due.length), 1) as [FaultKind];
    if (await this.#actions[kind]()) this.counts[kind] += 1;
  }

  /** Ends the faults that last. */
  async settle(): Promise<void> {
    this.#isOver.abort();
    await Promise.all([...this.#lasting.values()].map(({ done }) => done));
  }

  /** False when the fault cannot happen now. */
  readonly #actions: Record<FaultKind, () => Promise<boolean>> = {
    server: () => this.#kill("server"),
    worker: () => this.#kill("worker"),
    child: () => this.#killChild(),
    suspension: async () => this.#suspend(),
    cut: async () => this.#cut(),
    primary: () => this.#withoutMetadata("kill -9 of the primary", (m) => m.crashPrimary(this.#upTo(4_000))),
    standby: async () => {
      this.#parts.tell("kill -9 of the standby");
      await this.#parts.metadata.crashStandby(this.#upTo(4_000));
      return true;
    },
    promotion: async () => {
      const vanishes = this.#parts.dice.chance(0.5);
      const what = `promotion of the standby of a primary that ${vanishes ? "vanishes" : "is killed"}`;
      await this.#withoutMetadata(what, async (metadata) => {
        await metadata.promote(this.#upTo(2_000), vanishes);
        if (vanishes) await delay(noticeMs);
      });
      await this.#parts.metadata.renewStandby();
      this.#parts.tell("a new standby");
      return true;
    },
    clickhouse: async () => {
      const { clickhouse, tell } = this.#parts;
      tell("kill -9 of ClickHouse");
      await clickhouse.kill();
      await this.#upTo(4_000)();
      await clickhouse.restart();
      return true;
    },
    kafka: async () => {
      const { kafka, tell } = this.#parts;
      tell("kill -9 of Kafka");
      await kafka.kill();
      await this.#upTo(2_000)();
      await kafka.start();
      return true;
    },
    source: async () => {
      const { source, tell } = this.#parts;
      tell("kill -9 of the Postgres source");
      await source.crash();
      await this.#upTo(2_000)();
      await source.start();
      return true;
    },
  };

  #upTo(ms: number): () => Promise<void> {
    const share = this.#parts.dice.next();
    return () => delay(share * ms);
  }

  async #withoutMetadata(what: string, work: (metadata: MetadataPair) => Promise<void>): Promise<boolean> {
    this.#parts.tell(what);
    const back = this.#parts.availability.lose();
    await work(this.#parts.metadata);
    back();
    return true;
  }

  async #kill(kind: "server" | "worker"): Promise<boolean> {
    const { installation, availability, dice, tell } = this.#parts;
    const node = this.#pick(installation.nodes.filter((one) => one.kind === kind));
    if (node === undefined) return false;
    // Some come back when their pipes run elsewhere.
    const away = dice.chance(0.3) ? () => delay(suspendMs) : this.#upTo(2_000);
    tell(`kill -9 of ${nameOf(node)}`);
    const back = kind === "server" ? availability.lose(node.at) : () => {};
    await installation.restart(node, away);
    back();
    return true;
  }

  async #killChild(): Promise<boolean> {
    const { installation, dice, tell } = this.#parts;
    const trees = installation.nodes.map((node) => ({ node, pids: childrenOf(installation, node) }));
    const some = trees.filter(({ pids }) => pids.length > 0);
    if (some.length === 0) return false;
    const { node, pids } = dice.pick(some);
    tell(`kill -9 of a child of ${nameOf(node)}`);
    signal([dice.pick(pids)], "SIGKILL");
    return true;
  }

  /** Pauses a process alone, or its whole tree, as when a machine pauses. */
  #suspend(): boolean {
    const { installation, availability, dice, tell } = this.#parts;
    const node = this.#pick(installation.nodes);
    if (node === undefined || this.#lasting.has("suspension")) return false;
    const pid = installation.processOf(node).pid ?? 0;
    const pids = dice.chance(0.5) ? processTree(pid) : [pid];
    const back = node.kind === "server" ? availability.lose(node.at) : () => {};
    tell(`SIGSTOP of ${nameOf(node)}, ${pids.length} processes`);
    signal(pids, "SIGSTOP");
    this.#last("suspension", suspendMs + dice.below(7_000), node, () => {
      signal(pids, "SIGCONT");
      back();
      tell(`SIGCONT of ${nameOf(node)}`);
    });
    return true;
  }

  /** Between a process and one of its peers, or between primary and standby. */
  #cut(): boolean {
    const { installation, availability, metadata, wires, dice, tell } = this.#parts;
    if (this.#lasting.has("cut")) return false;
    const kind: CutKind = dice.chance(0.7) ? "silent" : "refused";
    const ms = 1_000 + dice.below(longestCutMs - 1_000);
    const peer = dice.pick(["metadata", "metadata", "replication", ...Object.keys(wires)]);
    if (peer === "replication") {
      const standby = () => portsOf(processTree(metadata.standby.pid));
      tell(`cut between primary and standby, ${kind}, ${ms} ms`);
      this.#last("cut", ms, undefined, this.#ended(peer, metadata.replication.cut(kind, standby)));
      return true;
    }
    const node = this.#pick(installation.nodes);
    if (node === undefined) return false;
    const clients = () => portsOf(processTree(installation.processOf(node).pid ?? 0));
    const isLost = node.kind === "server" && peer === "metadata";
    const back = isLost ? availability.lose(node.at) : () => {};
    tell(`cut between ${nameOf(node)} and ${peer}, ${kind}, ${ms} ms`);
    const cut = peer === "metadata" ? metadata.wires : [wires[peer] as Wire];
    const mends = cut.map((wire) => wire.cut(kind, clients));
    this.#last("cut", ms, node, this.#ended(peer, ...mends, back));
    return true;
  }

  #ended(peer: string, ...ends: readonly (() => void)[]): () => void {
    return () => {
      for (const end of ends) end();
      this.#parts.tell(`end of the cut to ${peer}`);
    };
  }

  #last(kind: FaultKind, ms: number, node: PlanesNode | undefined, end: () => void): void {
    const pass = async () => {
      await delay(ms, undefined, { signal: this.#isOver.signal }).catch(() => {});
      end();
      this.#lasting.delete(kind);
    };
    this.#lasting.set(kind, { node, done: pass() });
  }

  /** One without a fault. One server has none at any time. */
  #pick(nodes: readonly PlanesNode[]): PlanesNode | undefined {
    const { availability, dice } = this.#parts;
    const busy = [...this.#lasting.values()].flatMap(({ node }) => (node === undefined ? [] : [nameOf(node)]));
    const isServerAway = [0, 1].some((at) => availability.hasFault(at));
    const free = nodes.filter((node) => !busy.includes(nameOf(node)) && !(node.kind === "server" && isServerAway));
    return free.length === 0 ? undefined : dice.pick(free);
  }
}

function childrenOf(installation: Installation, node: PlanesNode): number[] {
  return processTree(installation.processOf(node).pid ?? 0).slice(1);
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // It has ended.
    }
  }
}
