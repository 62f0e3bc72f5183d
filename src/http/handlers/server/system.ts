/**
 * The program itself: versions, disk, certificate, backup location, ports, loops, engines, workers, limits,
 * configuration.
 */

import { statfs } from "node:fs/promises";
import { arch, release, type } from "node:os";
import type { z } from "zod";
import type { systemOperations, systemRecord } from "../../../api/system.ts";
import type { Backups } from "../../../backups/open.ts";
import { packagedVersion } from "../../../clickhouse/version.ts";
import {
  type Config,
  environmentName,
  flagName,
  organizationLimits,
  type SettingOrigins,
  secretSettings,
  settings,
} from "../../../config.ts";
import type { Endpoint } from "../../../endpoint/open.ts";
import type { LoopStatus } from "../../../lib/loop.ts";
import { residentBytes } from "../../../lib/process.ts";
import type { Pipes } from "../../../pipes/control/open.ts";
import type { ServiceAccess } from "../../../services/access.ts";
import type { PipeStore } from "../../../store/pipes/pipes.ts";
import type { ServiceStore } from "../../../store/services/services.ts";
import { type Certificates, certificateView } from "../../server/certificates.ts";
import { backupLocationView, servicePortsView } from "../../views/system.ts";
import type { Management } from "../lookups.ts";

export type SystemDeps = {
  readonly version: string;
  readonly config: Config;
  readonly origins: SettingOrigins;
  /** Absolute. */
  readonly dataDir: string;
  readonly baseUrl: () => string;
  readonly confinement: { readonly confined: boolean; readonly sentence: string };
  readonly loops: () => readonly LoopStatus[];
  readonly services: ServiceStore;
  readonly engines: ServiceAccess["engines"];
  /** Processor time of a service's engine, in seconds per second. */
  readonly cpuCores: (serviceId: string) => number | undefined;
  readonly certificates: Certificates;
  readonly backups: Pick<Backups, "backupLocation" | "locationCheck">;
  readonly endpoint: Pick<Endpoint, "problems">;
  readonly pipes: Pick<PipeStore, "idsIn">;
  readonly workers: Pipes["workers"];
};

type SystemView = z.input<typeof systemRecord>;

export function systemHandlers(deps: SystemDeps): Management<keyof typeof systemOperations> {
  const { backups } = deps;
  return {
    getSystem: async (_input, { organizationId }) => {
      const { bsize, blocks, bavail } = await statfs(deps.dataDir);
      const { confined, sentence } = deps.confinement;
      return {
        version: deps.version,
        nodeVersion: process.versions.node,
        engineVersion: packagedVersion,
        platform: `${type()} ${release()} ${arch()}`,
        pid: process.pid,
        startedAt: new Date(Date.now() - process.uptime() * 1000).toISOString(),
        uptimeSeconds: Math.floor(process.uptime()),
        memoryBytes: process.memoryUsage.rss(),
        baseUrl: deps.baseUrl(),
        dataDir: deps.dataDir,
        disk: { totalBytes: bsize * blocks, freeBytes: bsize * bavail },
        ...certificatesOf(deps),
        backupLocation: backupLocationView(backups.backupLocation.location, backups.locationCheck.state()),
        servicePorts: servicePortsView(
          deps.config.servicePorts,
          await deps.services.listAll(),
          deps.endpoint.problems(),
          organizationId,
        ),
        confinement: { confined, sentence },
        loops: [...deps.loops()],
        engines: await enginesOf(deps, organizationId),
        workers: await workersOf(deps, organizationId),
        limits: Object.entries(organizationLimits(deps.config)).map(([name, limit]) => ({ name, ...limit })),
        configuration: configurationOf(deps),
      };
    },
  };
}

function certificatesOf({ certificates: { api, gateway } }: SystemDeps) {
  const now = Date.now();
  return {
    ...(api === undefined ? {} : { certificate: certificateView(api, now) }),
    ...(gateway === undefined ? {} : { gatewayCertificate: certificateView(gateway, now) }),
  };
}

/** Names of other organizations' services are not shown to an admin of one. */
async function enginesOf(
  { services, engines, cpuCores }: SystemDeps,
  organizationId: string,
): Promise<SystemView["engines"]> {
  const own = new Set((await services.listIn(organizationId)).map(({ id }) => id));
  return [...engines()]
    .filter(([serviceId]) => own.has(serviceId))
    .flatMap(([serviceId, { process: host, version }]) => {
      if (host === undefined) return [];
      const { pid, memoryGb } = host;
      const memoryBytes = residentBytes(pid);
      const memory = { ...(memoryBytes === undefined ? {} : { memoryBytes }), memoryLimitGb: memoryGb };
      const cores = cpuCores(serviceId);
      const load = cores === undefined ? {} : { cpuCores: Math.round(cores * 1000) / 1000 };
      return [{ serviceId, pid, ...memory, ...load, version }];
    });
}

/** Pipes of other organizations are not shown, also where organizations share a process. */
async function workersOf({ pipes, workers }: SystemDeps, organizationId: string): Promise<SystemView["workers"]> {
  const own = new Set(await pipes.idsIn(organizationId));
  return workers().flatMap(({ pipeIds, name, pid, sourceKind, isOwn, utilization, memoryBytes, memoryLimitBytes }) => {
    const ids = pipeIds.filter((id) => own.has(id));
    if (ids.length === 0) return [];
    return [
      {
        ...{ name, pid, source: sourceKind, own: isOwn, pipes: ids, slots: pipeIds.length, memoryLimitBytes },
        ...(memoryBytes === undefined ? {} : { memoryBytes }),
        utilization: Math.round(utilization * 1000) / 1000,
      },
    ];
  });
}

function configurationOf({ config, origins }: SystemDeps): SystemView["configuration"] {
  return (Object.keys(settings) as (keyof Config)[]).map((name) => {
    const secret = secretSettings.has(name);
    const value = config[name];
    return {
      name,
      flag: flagName(name),
      environment: environmentName(name),
      origin: origins[name],
      ...(value === undefined ? {} : { value: secret ? "set" : withoutPassword(value) }),
      secret,
    };
  });
}

/** URLs may hold a name and a password. */
function withoutPassword<T>(value: T): T | string {
  return typeof value === "string" ? value.replace(/(:\/\/)[^/@\s]*@/, "$1[hidden]@") : value;
}
