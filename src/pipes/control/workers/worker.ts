/**
 * One worker process and its worker slots, each of which runs one replica of a pipe. The process ends with its last
 * slot. What ends the process ends all slots: each of them is told how, and whether the fault is known to be its own.
 */
import type { ChildProcess } from "node:child_process";
import type { Server } from "node:net";
import { violationOf } from "../../../confinement/channel.ts";
import { logOutput } from "../../../lib/log-output.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { FromWorker, FromWorkerSlot, ToWorker, ToWorkerSlot } from "../../protocol.ts";
import { readFromWorker } from "./from-worker.ts";
import type { Classed } from "./placement.ts";

/** Time for the neighbours of a slot that does not end to leave the process before it is killed. */
const leaveMs = 10_000;

/** Whose fault the end of a worker slot is. */
export type Fault = "own" | "neighbour" | "unknown";

/** The control plane's end of a worker slot. */
export type Tenant = {
  readonly pipeId: string;
  /** Rows that it has loaded. */
  readonly work: number;
  receive(message: FromWorkerSlot): void;
  /** The slot has ended: the last call. */
  ended(how: string, fault: Fault): void;
};

/** A message of a slot without its number. */
export type Told = ToWorkerSlot extends infer M ? (M extends ToWorkerSlot ? Omit<M, "slot"> : never) : never;

export type WorkerParts = {
  readonly name: string;
  readonly child: ChildProcess;
  readonly logger: Logger;
  /** Called when the worker should be looked at: its tenants should leave, or it has ended. */
  readonly changed: () => void;
};

export class Worker {
  readonly startedAt = performance.now();
  readonly #parts: WorkerParts;
  readonly #tenants = new Map<number, Tenant>();
  /** Slots that were asked to stop and did not. */
  readonly #stuck = new Set<number>();
  #last = 0;
  #utilization = 0;
  #fault: number | undefined;
  #isLeaving = false;
  #isOver = false;
  #heardAt: number | undefined;
  #killer: NodeJS.Timeout | undefined;
  /** How the last tenant has ended, when the process ends for that reason. */
  #lastHow: string | undefined;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    const { child, logger } = parts;
    logOutput(child.stderr, logger, { worker: parts.name });
    child.once("exit", (code, signal) =>
      this.#exited(violationOf(child) ?? (signal === null ? `exit code ${code}` : `signal ${signal}`)),
    );
    child.once("error", (error) => this.#exited(error.message));
    // What this throws kills the process: see `guardChannel`.
    child.on("message", (message) => this.#receive(readFromWorker(message)));
  }

  get name(): string {
    return this.#parts.name;
  }

  get pid(): number | undefined {
    return this.#parts.child.pid;
  }

  get tenants(): readonly Tenant[] {
    return [...this.#tenants.values()];
  }

  get pipeIds(): string[] {
    return this.tenants.map(({ pipeId }) => pipeId);
  }

  /** Share of a processor that the event loop has used in the last seconds, 0 to 1. */
  get utilization(): number {
    return this.#utilization;
  }

  /** True when its tenants should end and start elsewhere, and when it is ending. */
  get isLeaving(): boolean {
    return this.#isLeaving || this.#isOver;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Time of the last message: a process whose event loop is free sends one every two seconds. Undefined until it has
   * started.
   */
  get heardAt(): number | undefined {
    return this.#heardAt;
  }

  /** Returns the number of the new slot. */
  open(tenant: Tenant): number {
    this.#last += 1;
    this.#tenants.set(this.#last, tenant);
    return this.#last;
  }

  /** A listener sent along belongs to the worker alone afterwards. */
  send(slot: number, told: Told, listener?: Server): void {
    this.#send({ ...told, slot } as ToWorkerSlot, listener);
  }

  /** A pipe is about to come: the process loads its code meanwhile. */
  expect({ sourceKind, config }: Pick<Classed, "sourceKind" | "config">): void {
    this.#send({ type: "expect", sourceKind, config });
  }

  tellOwnPorts(ownPorts: readonly number[]): void {
    this.#send({ type: "outgoing", ownPorts });
  }

  /** Asks all tenants to leave. The process ends when the last one has left. */
  leave(): void {
    if (this.isLeaving) return;
    this.#isLeaving = true;
    if (this.#tenants.size === 0) this.#end();
    this.#parts.changed();
  }

  /** Ends a process that no pipe has come to. */
  leaveUnused(): void {
    if (this.#tenants.size === 0) this.leave();
  }

  /** Ends the process without its help. */
  kill(): void {
    this.#parts.child.kill("SIGKILL");
  }

  /** Ends a slot that does not end: with its process, which the neighbours leave first, as far as they can. */
  endStuck(slot: number): void {
    if (!this.#tenants.has(slot)) return;
    this.#stuck.add(slot);
    this.leave();
    this.#killer ??= setTimeout(() => this.kill(), leaveMs);
    this.#killIfStuck();
  }

  #send(message: ToWorker, listener?: Server): void {
    const { child } = this.#parts;
    if (child.connected) child.send(message, listener, () => listener?.close());
    else listener?.close();
  }

  #receive(message: FromWorker): void {
    this.#heardAt = performance.now();
    if (message.type === "load") this.#utilization = message.utilization;
    else if (message.type === "fault") this.#fault = message.slot;
    else if (message.type === "ended") this.#ended(message.slot, message.failed);
    else this.#tenants.get(message.slot)?.receive(message);
  }

  #ended(slot: number, failed: boolean): void {
    const how = failed ? "an internal error" : "it has ended";
    if (this.#tenants.size > 1) {
      const tenant = this.#tenants.get(slot);
      this.#tenants.delete(slot);
      this.#killIfStuck();
      tenant?.ended(how, "own");
      return;
    }
    // The last tenant has ended when the process has: nothing of it is left then, such as files that are being written.
    this.#isLeaving = true;
    this.#lastHow = how;
    this.#end();
  }

  #end(): void {
    if (this.#parts.child.connected) this.#parts.child.disconnect();
    this.#killer ??= setTimeout(() => this.kill(), leaveMs);
  }

  #killIfStuck(): void {
    if (this.#stuck.size === 0) return;
    if ([...this.#tenants.keys()].every((slot) => this.#stuck.has(slot))) this.kill();
  }

  #exited(how: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#killer);
    const tenants = [...this.#tenants];
    this.#tenants.clear();
    for (const [slot, tenant] of tenants) tenant.ended(this.#lastHow ?? how, this.#faultOf(slot, tenants.length));
    this.#parts.changed();
  }

  #faultOf(slot: number, tenants: number): Fault {
    if (tenants === 1) return "own";
    if (this.#stuck.size > 0) return this.#stuck.has(slot) ? "own" : "neighbour";
    if (this.#fault === undefined) return "unknown";
    return this.#fault === slot ? "own" : "neighbour";
  }
}
