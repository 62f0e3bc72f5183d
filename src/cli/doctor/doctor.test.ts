import { describe, expect, test } from "vitest";
import { objectRemedy, pipeRemedy } from "../commands/doctor.ts";
import { clockCheck } from "./clock.ts";
import { type System, systemChecks } from "./system.ts";

const now = Date.parse("2026-06-01T12:00:00Z");

describe("the clock", () => {
  const at = (offsetSeconds: number) => new Date(now + offsetSeconds * 1000).toUTCString();
  test.each([
    [0, "ok"],
    [-1, "ok"],
    [4, "ok"],
    [30, "warn"],
    [-30, "warn"],
    [400, "fail"],
    [-400, "fail"],
  ])("%d s is %s", (offset, result) => expect(clockCheck(at(offset), now, now + 100).result).toBe(result));

  test("a slow answer is not a difference of clocks", () => {
    expect(clockCheck(at(60), now, now + 120_000).result).toBe("ok");
  });

  test("says the direction, and what is missing", () => {
    expect(clockCheck(at(600), now, now).detail).toMatch(/10m ahead of/);
    expect(clockCheck(at(-600), now, now).detail).toMatch(/behind/);
    expect(clockCheck(undefined, now, now).result).toBe("warn");
  });
});

test.each([
  ["state", { needsResync: { tables: ["public.nokey"] } }, "pipe resync old --table public.nokey"],
  ["state", { needsResync: {} }, "pipe resync old"],
  ["state", { needsSecrets: ["accessKey"] }, "apply -f FILE --update-secrets"],
  ["state", {}, "pipe get old"],
  ["refused", { needsResync: {} }, "pipe errors old"],
] as const)("the remedy of a pipe by what is found: %s %j", (about, { ...pipe }, command) => {
  expect(pipeRemedy("old", about, pipe as Parameters<typeof pipeRemedy>[2])).toBe(`millrace ${command}`);
});

test("a service is looked at, unless its disk quota can be raised", () => {
  const lake = { object: "service", name: "lake" } as const;
  expect(objectRemedy({ ...lake, about: "state" })).toBe("millrace service get lake");
  expect(objectRemedy({ ...lake, about: "disk" })).toBe("millrace service update lake --disk GIB");
});

describe("the system", () => {
  const healthy: System = {
    ...{ version: "1", nodeVersion: "24.0.0", engineVersion: "26.7", platform: "Linux", pid: 1 },
    ...{ startedAt: "", uptimeSeconds: 60, memoryBytes: 1, baseUrl: "", dataDir: "/data" },
    disk: { totalBytes: 100, freeBytes: 50 },
    backupLocation: { place: "/backups", writable: true, checkedAt: new Date(now).toISOString() },
    servicePorts: { first: 1, last: 100, used: 1, problems: [] },
    confinement: { confined: true, sentence: "" },
    ...{ loops: [], engines: [], workers: [], limits: [], configuration: [] },
  };
  const judge = (changes: Partial<System>) => {
    const found = systemChecks({ ...healthy, ...changes }, now).filter(({ result }) => result !== "ok");
    for (const { remedy } of found) expect(remedy).toBeDefined();
    return found.map(({ check, result }) => `${check} ${result}`);
  };
  const worker = {
    ...{ name: "w", pid: 2, source: "objectStorage", own: false, pipes: ["p"], slots: 1, utilization: 0 },
    ...{ memoryBytes: 50, memoryLimitBytes: 100 },
  };
  const until = (validTo: string) => ({
    certificate: { subject: "", names: [], validFrom: "2026-01-01T00:00:00Z", validTo, daysLeft: 0 },
  });

  const lasting = until("2026-06-17T00:00:00Z").certificate;

  test("is well", () => {
    expect(judge({})).toEqual([]);
    expect(judge({ certificate: lasting, gatewayCertificate: lasting })).toEqual([]);
  });

  test.each<[string, Partial<System>, string]>([
    ["little disk", { disk: { totalBytes: 100, freeBytes: 5 } }, "disk warn"],
    ["no disk", { disk: { totalBytes: 100, freeBytes: 1 } }, "disk fail"],
    ["no backups", { backupLocation: { place: "b", writable: false, problem: "EROFS" } }, "backups fail"],
    ["unknown place", { backupLocation: { place: "b" } }, "backups warn"],
    ["few ports", { servicePorts: { first: 1, last: 100, used: 95, problems: [] } }, "ports warn"],
    [
      "a port of another program",
      { servicePorts: { first: 1, last: 9, used: 1, problems: [{ serviceId: "s", port: 5, problem: "in use" }] } },
      "port 5 fail",
    ],
    ["a certificate for two weeks", until("2026-06-15T00:00:00Z"), "TLS warn"],
    ["a certificate for a day", until("2026-06-02T00:00:00Z"), "TLS fail"],
    ["an expired certificate", until("2026-05-01T00:00:00Z"), "TLS fail"],
    ["one of the gateway", { gatewayCertificate: until("2026-06-15T00:00:00Z").certificate }, "gateway TLS warn"],
    ["a renewal that failed", { certificate: { ...lasting, problem: "key.pem cannot be read (ENOENT)" } }, "TLS warn"],
    ["a worker that is almost full", { workers: [{ ...worker, memoryBytes: 95 }, worker] }, "workers warn"],
    ["an old engine", { engines: [{ serviceId: "s", pid: 1, memoryLimitGb: 1, version: "26.5" }] }, "engine warn"],
    ["no confinement", { confinement: { confined: false, sentence: "no" } }, "confinement warn"],
  ])("%s", (_, changes, expected) => expect(judge(changes)).toEqual([expected]));
});
