/**
 * Which pipes this process runs: those of the engines that are its own, and its share of the pipes of all other
 * services, whose servers every process reaches.
 */
import { traitsOf } from "../../../api/runtimes.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { TaskTable } from "../../../lib/task-table.ts";
import type { Leases } from "../../../store/nodes/leases.ts";
import type { Pipe } from "../../../store/pipes/pipes.ts";
import type { Service } from "../../../store/services/services.ts";
import { sharesOf } from "./shares.ts";

export type ClaimsOptions = {
  readonly leases: Leases;
  /** The supervisor's actions. */
  readonly tasks: TaskTable;
  /** Pipes with workers in this process. */
  readonly runs: () => Iterable<string>;
  /** Ends the pipe's workers, without writing a state. */
  readonly forget: (pipeId: string) => Promise<void>;
  readonly logger: Logger;
};

export class PipeClaims {
  readonly #options: ClaimsOptions;
  /** Pipes that this process leaves to others. */
  readonly #leaving = new Set<string>();

  constructor(options: ClaimsOptions) {
    this.#options = options;
    // Not in a pass: it reads the database first, which may not answer.
    options.leases.onLost(() => this.endLost());
  }

  /** Ends the workers of pipes that others may run now. */
  endLost(): void {
    const { leases, logger, runs, forget } = this.#options;
    for (const id of runs()) {
      if (leases.holds("pipe", id) || this.#leaving.has(id)) continue;
      logger.warn({ pipeId: id }, "the pipe was lost to another process, or is about to be");
      this.#leave(id, () => forget(id));
    }
  }

  /** Claims what nobody has, up to the share of this process, and leaves what it has beyond it; true after a claim. */
  async pass(pipes: readonly Pipe[], services: ReadonlyMap<string, Service>): Promise<boolean> {
    const { leases } = this.#options;
    const peers = await leases.peers();
    // Without peers, everything is held.
    if (peers.length === 0) return false;
    const isWithEngine = (pipe: Pipe) => isOfEngine(services.get(pipe.serviceId));
    const tied = pipes.filter(isWithEngine);
    const own = tied.filter(({ serviceId }) => leases.holds("service", serviceId));
    for (const { id, serviceId } of tied) {
      if (leases.holds("pipe", id) && !leases.holds("service", serviceId)) this.#giveUp(id);
    }
    const isOwnClaimed = await this.#claim(own, own.length);
    const common = pipes.filter((pipe) => !isWithEngine(pipe));
    let isClaimed = isOwnClaimed;
    for (const { pipes: shared, most } of sharesOf(common, peers, leases.nodeId)) {
      const held = shared.filter(({ id }) => leases.holds("pipe", id));
      for (const { id } of held.slice(most)) this.#giveUp(id);
      if (await this.#claim(shared, Math.max(0, most - held.length))) isClaimed = true;
    }
    return isClaimed;
  }

  async #claim(pipes: readonly Pipe[], most: number): Promise<boolean> {
    const { leases, tasks, runs } = this.#options;
    // While something of an earlier run is left, its writes would have the new fence.
    const running = new Set(runs());
    const isWanted = (id: string) => !leases.holds("pipe", id) && !running.has(id) && tasks.isFree(id);
    const wanted = pipes.map(({ id }) => id).filter(isWanted);
    if (wanted.length === 0 || most === 0) return false;
    const free = await leases.free("pipe", wanted);
    return free.length > 0 && (await leases.claim("pipe", free.slice(0, most))).length > 0;
  }

  #giveUp(id: string): void {
    const { leases, logger, forget } = this.#options;
    if (this.#leaving.has(id)) return;
    logger.info({ pipeId: id }, "the pipe is left to another process");
    this.#leave(id, async () => {
      await forget(id);
      await leases.release("pipe", [id]);
    });
  }

  /** After an action that runs: it fails at its next write, if the lease is lost. */
  #leave(id: string, action: () => Promise<void>): void {
    this.#leaving.add(id);
    this.#options.tasks.run(id, () => action().finally(() => this.#leaving.delete(id)));
  }
}

/** True of a service that only one server can reach: its pipes are where it is, and not in workers. */
function isOfEngine(service: Service | undefined): boolean {
  return service !== undefined && traitsOf(service).isOwnProcess;
}
