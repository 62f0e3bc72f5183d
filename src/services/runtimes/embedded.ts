/**
 * The embedded runtime: one engine host process per service on a data directory of its own,
 * `<dataDir>/services/<id>/{data,run}`. The pid file lets a later run end a host that outlived its control plane.
 */
import { mkdirSync, rmSync } from "node:fs";
import { rmdir } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ReadyLauncher } from "../../confinement/ready-launcher.ts";
import type { EgressProxy } from "../../endpoint/egress/proxy.ts";
import { type EngineRole, type EngineUser, readerUser } from "../../engine/chdb/users.ts";
import type { EngineHostOptions } from "../../engine/host-process.ts";
import { type Exit, spawnEngineHost } from "../../engine/spawn.ts";
import { StandbyHosts } from "../../engine/standby.ts";
import { removeFolder } from "../../lib/files.ts";
import type { Logger } from "../../lib/logger.ts";
import { endRecorded, recordProcess } from "../../lib/process.ts";
import type { Service } from "../../store/services/services.ts";
import { diskLimitBytes, type ServiceDisks } from "../disks.ts";
import { memoryBytes } from "../memory.ts";
import type { RunningEngine, ServiceRuntime } from "../runtime.ts";

const stopGraceMs = 5_000;
/** How long queries on handed-over connections may continue when their service is stopped. */
const drainGraceMs = 2_000;

export type UsersAndRoles = { readonly users: readonly EngineUser[]; readonly roles: readonly EngineRole[] };

export type EmbeddedOptions = {
  readonly dataDir: string;
  /** Maximum number of concurrent queries of one service. */
  readonly maxQueries: number;
  /** Free bytes of the disk below which inserts are refused. */
  readonly minFreeDiskBytes: number;
  /** The only folder in which a service's engine may read and write backups. */
  readonly backupPathOf: (serviceId: string) => string;
  /** The engines' proxy for outgoing connections. */
  readonly proxy: EgressProxy;
  /** True while a service is moved: its parts stay as they are. */
  readonly isMoving: (serviceId: string) => Promise<boolean>;
  readonly usersOf: (serviceId: string) => Promise<UsersAndRoles>;
  /** The disk use of services. */
  readonly disks: ServiceDisks;
  /** Maximum number of idle services whose engine host is prepared. */
  readonly standbyEngines: number;
  readonly readyLauncher: ReadyLauncher;
  readonly logger: Logger;
};

export class EmbeddedRuntime implements ServiceRuntime {
  readonly #options: EmbeddedOptions;
  readonly #standbys: StandbyHosts;
  /** By service; a statement of a pipe that was running then may be the cause. */
  readonly #crashes = new Map<string, number>();

  constructor(options: EmbeddedOptions) {
    this.#options = options;
    this.#standbys = new StandbyHosts(options.standbyEngines);
  }

  async start(service: Service): Promise<RunningEngine> {
    const home = this.#home(service.id);
    const pidFile = join(home, "engine.pid");
    await endRecorded(pidFile);
    const access = await this.#options.usersOf(service.id);
    const isMoving = await this.#options.isMoving(service.id);
    const host = await spawnEngineHost(
      {
        ...(await this.#processOptions(service, isMoving)),
        disk: { usedBytes: this.#options.disks.usedBytes(service), limitBytes: diskLimitBytes(service) },
        onDiskUsed: (usedBytes) => void this.#options.disks.report(service.id, usedBytes),
        ...access,
        logger: this.#options.logger,
        logFields: { serviceId: service.id, service: service.name },
        onSpawn: (pid: number) => recordProcess(pidFile, pid),
      },
      this.#standbys,
    );
    const crashes = this.#crashes.get(service.id) ?? 0;
    void host.exited.then((exit) => isCrash(exit) && this.#crashes.set(service.id, crashes + 1));
    return {
      process: { pid: host.pid, memoryGb: service.maxReplicaMemoryGb },
      address: { ...host.address, crashes },
      readerAddress: { ...host.address, user: readerUser },
      isCurrent: async ({ id, maxReplicaMemoryGb }) =>
        maxReplicaMemoryGb === service.maxReplicaMemoryGb &&
        (await this.#options.isMoving(id)) === isMoving &&
        isDeepStrictEqual(await this.#options.usersOf(id), access),
      knowsRights: async (id) => isDeepStrictEqual(rightsIn(await this.#options.usersOf(id)), rightsIn(access)),
      forwardAddress: host.forwardAddress,
      version: host.version,
      note: host.outOfUse,
      ended: host.exited.then(sentenceOf),
      handoff: host.handoff,
      limitDisk: host.limitDisk,
      stop: async () => {
        // An engine that does not answer is stopped all the same.
        await host.handoff.drain({ graceMs: drainGraceMs }).catch(() => {});
        await host.stop(stopGraceMs);
        rmSync(pidFile, { force: true });
      },
    };
  }

  async standBy(service: Service): Promise<void> {
    await this.#standbys.prepare(await this.#processOptions(service, await this.#options.isMoving(service.id)));
  }

  async halt({ id }: Service): Promise<void> {
    await this.#standbys.drop(this.#dataOf(id));
  }

  async remove(service: Service): Promise<void> {
    const serviceId = service.id;
    await this.halt(service);
    await endRecorded(join(this.#home(serviceId), "engine.pid"));
    this.#crashes.delete(serviceId);
    this.#options.disks.forget(serviceId);
    await this.#options.proxy.close(serviceId);
    await removeFolder(this.#home(serviceId));
    await this.#removeBackupPath(serviceId);
  }

  /** Only if it is empty: a backup may still be read from it. A location that is away keeps no service. */
  async #removeBackupPath(serviceId: string): Promise<void> {
    try {
      await rmdir(this.#options.backupPathOf(serviceId));
    } catch (err) {
      this.#options.logger.debug({ err, serviceId }, "backup path kept");
    }
  }

  /** What the process of a host is started with. */
  async #processOptions(service: Service, isMoving: boolean): Promise<EngineHostOptions> {
    const home = this.#home(service.id);
    const runDir = join(home, "run");
    mkdirSync(runDir, { recursive: true, mode: 0o700 });
    return {
      dataDir: this.#dataOf(service.id),
      runDir,
      maxMemoryBytes: memoryBytes(service),
      maxQueries: this.#options.maxQueries,
      minFreeDiskBytes: this.#options.minFreeDiskBytes,
      merges: !isMoving,
      proxy: await this.#options.proxy.open(service.id),
      backupsAllowedPath: this.#options.backupPathOf(service.id),
      readyLauncher: this.#options.readyLauncher,
    };
  }

  #dataOf(serviceId: string): string {
    return join(this.#home(serviceId), "data");
  }

  #home(serviceId: string): string {
    return homeOf(this.#options.dataDir, serviceId);
  }
}

/** What statements have granted; users of the management API have a stand-in until the engine knows them. */
function rightsIn({ users, roles }: UsersAndRoles) {
  return { users: users.filter(({ rights }) => rights !== undefined), roles };
}

/** The folder of an embedded service. */
export function homeOf(dataDir: string, serviceId: string): string {
  return join(dataDir, "services", serviceId);
}

/** False for what others do to the process: stop it, or kill it when memory is short. A reason is the host's own. */
function isCrash({ code, signal, reason }: Exit): boolean {
  if (reason !== undefined) return true;
  return signal === null ? code !== 0 : signal !== "SIGTERM" && signal !== "SIGKILL";
}

/** Statements reported when an engine dies: one of them may have been the cause. */
const maxNamed = 3;

function sentenceOf({ code, signal, reason, statements }: Exit): string {
  const how = reason ?? (signal === null ? `exit code ${code}` : `signal ${signal}`);
  if (statements.length === 0) return how;
  const more = statements.length > maxNamed ? ` and ${statements.length - maxNamed} more` : "";
  return `${how}; it was running: ${statements.slice(0, maxNamed).join("; ")}${more}`;
}
