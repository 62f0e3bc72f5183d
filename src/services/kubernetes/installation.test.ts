import { describe, expect, test } from "vitest";
import { type InstallationSettings, installationDigest, installationOf, type Wanted } from "./installation.ts";

const settings: InstallationSettings = {
  ...{
    namespace: "data",
    image: "clickhouse:26.7",
    storageClass: undefined,
    keeper: [],
    volumes: "retain",
  },
};
const wanted: Wanted = {
  id: "0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f9",
  ipAccessList: [{ source: "10.0.0.0/8", description: "" }],
  maxReplicaMemoryGb: 8,
  numReplicas: 2,
  diskGb: null,
  users: [
    { name: "default", passwordSha256: "a".repeat(64), readonly: false, rights: null },
    { name: "reader", passwordSha256: "b".repeat(64), readonly: true, rights: null },
  ],
  ownPasswordSha256: "c".repeat(64),
};
const of = (changes: Partial<Wanted> = {}, more: Partial<InstallationSettings> = {}, stop: "yes" | "no" = "no") =>
  installationOf({ ...wanted, ...changes }, stop, { ...settings, ...more });
const configuration = (installation: ReturnType<typeof of>) =>
  installation.spec.configuration as { users: Record<string, unknown>; zookeeper?: unknown };

describe("an installation", () => {
  test("has a name and labels of the service, the size per replica and a volume", () => {
    const { metadata, spec } = of();
    expect(metadata).toMatchObject({ name: "mr-0f1e2d3c4b5a", namespace: "data" });
    expect(metadata.labels["millrace/service-id"]).toBe(wanted.id);
    expect(spec).toMatchObject({
      configuration: { clusters: [{ layout: { shardsCount: 1, replicasCount: 2 } }] },
      templates: {
        podTemplates: [
          {
            spec: {
              containers: [{ resources: { requests: { memory: "8Gi", cpu: "2000m" }, limits: { memory: "8Gi" } } }],
            },
          },
        ],
        volumeClaimTemplates: [{ reclaimPolicy: "Retain", spec: { resources: { requests: { storage: "100Gi" } } } }],
      },
    });
  });

  test("has the service's users, of which read-only ones have the profile, and whom the access list admits", () => {
    const { users } = configuration(of());
    expect(users).toMatchObject({
      "default/networks/ip": ["10.0.0.0/8"],
      "default/profile": "default",
      "reader/profile": "millrace_reader",
      // Millrace itself connects from wherever it runs.
      "millrace/networks/ip": ["0.0.0.0/0", "::/0"],
    });
  });

  test("gives no user of a service the login of Millrace or of the operator", () => {
    const taken = ["millrace", "clickhouse_operator"].map((name) => ({
      ...{ name, passwordSha256: "d".repeat(64), readonly: false, rights: null },
    }));
    expect(JSON.stringify(of({ users: taken }))).not.toContain("d".repeat(64));
  });

  test("leaves out users who had grants in an embedded engine", () => {
    const granted = {
      name: "anna",
      passwordSha256: "d".repeat(64),
      readonly: false,
      rights: { grants: [], roles: [] },
    };
    expect(JSON.stringify(of({ users: [granted] }))).not.toMatch(/anna|dddd/);
  });

  test("names Keeper where there is one, and the reclaim policy that the operator wants", () => {
    expect(configuration(of()).zookeeper).toBeUndefined();
    const keeper = [{ host: "k", port: 2181 }];
    const given = of({}, { keeper, volumes: "delete", storageClass: "fast" });
    expect(configuration(given).zookeeper).toEqual({ nodes: keeper });
    expect(given.spec.templates).toMatchObject({
      volumeClaimTemplates: [{ reclaimPolicy: "Delete", spec: { storageClassName: "fast" } }],
    });
  });

  test("is equal for an equal service, whatever its task, and differs by every member", () => {
    const digest = installationDigest(of());
    const { spec, ...rest } = of();
    expect(installationDigest({ ...rest, spec: { ...spec, taskID: "x" } })).toBe(digest);
    const others = [
      of({ maxReplicaMemoryGb: 12 }),
      of({ numReplicas: 3 }),
      of({ diskGb: 200 }),
      of({ users: [] }),
      of({ ipAccessList: [] }),
      of({ ownPasswordSha256: "e".repeat(64) }),
      of({}, { image: "clickhouse:27.1" }),
      of({}, {}, "yes"),
    ];
    expect(new Set([digest, ...others.map(installationDigest)]).size).toBe(others.length + 1);
  });
});
