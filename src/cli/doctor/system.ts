/** Checks of what the server reports about itself. */
import type { OperationResult } from "../client/client.ts";
import { age, byteSize, span } from "../output/text.ts";
import { type Check, judged } from "./check.ts";

export type System = OperationResult<"getSystem">;

/** All of them, in the order in which they are shown. */
export function systemChecks(system: System, nowMs: number): Check[] {
  return [
    diskCheck(system),
    backupCheck(system),
    ...portChecks(system),
    ...certificateChecks(system, nowMs),
    ...engineChecks(system),
    ...workerChecks(system),
    confinementCheck(system),
    ...loopChecks(system),
  ];
}

function diskCheck({ dataDir, disk: { freeBytes, totalBytes } }: System): Check {
  const detail = `${byteSize(freeBytes)} of ${byteSize(totalBytes)} free at ${dataDir}`;
  const share = freeBytes / totalBytes;
  const result = share > 0.1 ? "ok" : share > 0.03 ? "warn" : "fail";
  return judged("disk", result, detail, "Free space, or move the data folder.");
}

function backupCheck({ backupLocation: { place, writable, checkedAt, problem } }: System): Check {
  if (writable === undefined) return judged("backups", "warn", `${place} is not checked yet`, "Try again in a minute.");
  const detail = `${place} ${writable ? "is writable" : `is not writable: ${problem}`}, checked ${age(checkedAt)} ago`;
  return judged(
    "backups",
    writable ? "ok" : "fail",
    detail,
    "Correct the --backup- settings or the rights at the place.",
  );
}

function portChecks({ servicePorts: { first, last, used, problems } }: System): Check[] {
  if (problems.length > 0) {
    return problems.map(({ serviceId, port, problem }) =>
      judged(
        `port ${port}`,
        "fail",
        problem,
        `Stop the other program, or millrace service update ${serviceId} --port N`,
      ),
    );
  }
  if (last === 0) return [{ check: "ports", result: "ok", detail: "services have no ports of their own" }];
  const count = last - first + 1;
  const result = used < count * 0.9 ? "ok" : "warn";
  return [judged("ports", result, `${used} of ${count} in use (${first}-${last})`, "Widen --service-ports.")];
}

const dayMs = 86_400_000;

function certificateChecks({ certificate, gatewayCertificate }: System, nowMs: number): Check[] {
  if (certificate === undefined && gatewayCertificate === undefined) {
    return [{ check: "TLS", result: "ok", detail: "not used by the server itself" }];
  }
  return [
    ...(certificate === undefined ? [] : [certificateCheck("TLS", "--tls-cert", certificate, nowMs)]),
    ...(gatewayCertificate === undefined
      ? []
      : [certificateCheck("gateway TLS", "--gateway-tls-cert", gatewayCertificate, nowMs)]),
  ];
}

function certificateCheck(
  check: string,
  setting: string,
  { validFrom, validTo, problem }: NonNullable<System["certificate"]>,
  nowMs: number,
): Check {
  const remedy = `Renew the files of ${setting} and its key: the server reads them again by itself.`;
  if (nowMs < Date.parse(validFrom))
    return judged(check, "fail", `the certificate is valid from ${validFrom} on`, remedy);
  const leftMs = Date.parse(validTo) - nowMs;
  if (leftMs <= 0) return judged(check, "fail", `the certificate has expired at ${validTo}`, remedy);
  const refused = problem === undefined ? "" : `, and the new one is not used: ${problem}`;
  const detail = `the certificate expires in ${span(leftMs / 1000)}, at ${validTo}${refused}`;
  const lasts = leftMs > 14 * dayMs && problem === undefined;
  return judged(check, lasts ? "ok" : leftMs > 3 * dayMs ? "warn" : "fail", detail, remedy);
}

/** A running engine keeps the version that it was started with. */
function engineChecks({ engines, engineVersion }: System): Check[] {
  const old = engines.filter(({ version }) => version !== engineVersion);
  if (old.length === 0) return [{ check: "engine", result: "ok", detail: `ClickHouse ${engineVersion}` }];
  return old.map(({ serviceId, version }) => {
    const detail = `service ${serviceId} still runs ClickHouse ${version}, its next start ${engineVersion}`;
    return judged("engine", "warn", detail, `millrace service stop ${serviceId}, then start`);
  });
}

/** Share of its memory from which a worker is about to be replaced. */
const fullWorkerShare = 0.9;

function workerChecks({ workers }: System): Check[] {
  const full = workers.filter(
    ({ memoryBytes = 0, memoryLimitBytes }) => memoryBytes > fullWorkerShare * memoryLimitBytes,
  );
  const slots = workers.reduce((sum, worker) => sum + worker.slots, 0);
  if (full.length === 0) return [{ check: "workers", result: "ok", detail: `${workers.length} run ${slots} replicas` }];
  return full.map(({ pid, source, memoryBytes = 0, memoryLimitBytes, pipes }) => {
    const detail = `process ${pid} (${source}, pipes ${pipes.join(", ")}) uses ${byteSize(memoryBytes)} of ${byteSize(memoryLimitBytes)}`;
    return judged("workers", "warn", detail, "Raise --pipe-worker-memory-mb or scaling.replicaMemoryGb of the pipe.");
  });
}

function confinementCheck({ confinement: { confined, sentence } }: System): Check {
  return judged("confinement", confined ? "ok" : "warn", sentence, "See docs/security.md.");
}

function loopChecks({ loops, uptimeSeconds }: System): Check[] {
  const failing = loops.filter(({ consecutiveFailures }) => consecutiveFailures > 0);
  if (failing.length === 0) {
    return [
      { check: "loops", result: "ok", detail: `${loops.length} run, the server is up for ${span(uptimeSeconds)}` },
    ];
  }
  return failing.map(({ name, consecutiveFailures, lastError }) => {
    const detail = `${consecutiveFailures} passes failed: ${lastError}`;
    return judged(
      `loop ${name}`,
      consecutiveFailures > 3 ? "fail" : "warn",
      detail,
      "The server's log has the details.",
    );
  });
}
