import { expect, test } from "vitest";
import { loadConfig } from "../../config.ts";
import { type ClusterStatus, clickHouseOperator } from "./clickhouse-cluster.ts";
import type { Wanted } from "./installation.ts";
import type { ManagedObject } from "./objects.ts";
import type { Pod } from "./pods.ts";

const wanted: Wanted = {
  id: "0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f9",
  ipAccessList: [{ source: "10.0.0.0/8", description: "" }],
  maxReplicaMemoryGb: 8,
  numReplicas: 1,
  diskGb: null,
  users: [
    { name: "default", passwordSha256: "a".repeat(64), readonly: false, rights: null },
    { name: "reader", passwordSha256: "b".repeat(64), readonly: true, rights: null },
    { name: "granted", passwordSha256: "d".repeat(64), readonly: false, rights: { grants: [], roles: [] } },
  ],
  ownPasswordSha256: "c".repeat(64),
};
const operatorWith = (image: string) =>
  clickHouseOperator({ namespace: "data", image, storageClass: undefined, keeper: [], volumes: "retain" });
const operator = operatorWith("clickhouse:26.7");
const specWith = (image: string) => operatorWith(image).objectsOf(wanted, "no").at(-1)?.spec as Record<string, unknown>;

test("the user without a password is admitted from its pod only, and users with grants are left out", () => {
  const { users } = (specWith("a").settings as { extraUsersConfig: { users: Record<string, object> } })
    .extraUsersConfig;
  expect(users.default).toEqual({ networks: { ip: ["127.0.0.1", "::1"] } });
  expect(users.reader).toMatchObject({ networks: { ip: ["10.0.0.0/8"] }, profile: "millrace_reader" });
  expect(Object.keys(users)).toEqual(["default", "millrace", "reader"]);
});

test.each([
  ["clickhouse/clickhouse-server:26.7", { repository: "clickhouse/clickhouse-server", tag: "26.7" }],
  ["registry:5000/clickhouse", { repository: "registry:5000/clickhouse" }],
  ["registry:5000/clickhouse:1", { repository: "registry:5000/clickhouse", tag: "1" }],
])("the image %s is given in parts", (image, parts) => {
  expect(specWith(image).containerTemplate).toMatchObject({ image: parts });
});

test("no request exceeds its limit, which the operator would set to one processor", () => {
  const resources = (maxReplicaMemoryGb: number) => {
    const spec = operator.objectsOf({ ...wanted, maxReplicaMemoryGb }, "no").at(-1)?.spec as Record<string, unknown>;
    return (spec.containerTemplate as { resources: unknown }).resources;
  };
  expect(resources(8)).toEqual({ requests: { memory: "8Gi", cpu: "2000m" }, limits: { memory: "8Gi", cpu: "2000m" } });
  expect(resources(1)).toMatchObject({ requests: { cpu: "250m" }, limits: { cpu: "1000m" } });
});

test("a digest is refused, because the operator would add a tag to it", () => {
  const load = (operator: string) =>
    loadConfig(
      { kubernetesOperator: operator, kubernetesImage: "clickhouse@sha256:ab", kubernetesVolumes: "delete" },
      {},
    );
  expect(() => load("clickhouse")).toThrow("must have a tag and not a digest");
  expect(load("altinity").kubernetesImage).toBe("clickhouse@sha256:ab");
});

test("what the operator says of an earlier generation does not count for this one", () => {
  const told = (status: ClusterStatus | undefined): ManagedObject => ({
    ...{ apiVersion: "v1", kind: "x", spec: {} },
    metadata: { name: "mr-1", namespace: "data", labels: {}, generation: 2 },
    ...(status === undefined ? {} : { status }),
  });
  const ready = (status: string) => ({ type: "Ready", status });
  expect(operator.phaseOf(told(undefined))).toBe("unseen");
  expect(operator.phaseOf(told({ observedGeneration: 1, conditions: [ready("True")] }))).toBe("unseen");
  expect(operator.phaseOf(told({ observedGeneration: 2, conditions: [ready("False")] }))).toBe("working");
  expect(operator.phaseOf(told({ observedGeneration: 2, conditions: [ready("True")] }))).toBe("completed");
  const inSync = (status: string) => [ready("True"), { type: "ConfigurationInSync", status }];
  expect(operator.phaseOf(told({ observedGeneration: 2, conditions: inSync("False") }))).toBe("working");
  expect(operator.phaseOf(told({ observedGeneration: 2, conditions: inSync("True") }))).toBe("completed");
  const invalid = { type: "SpecValid", status: "False", message: "no such image" };
  const refused = told({ observedGeneration: 2, conditions: [invalid, ready("Unknown")] });
  expect(operator.phaseOf(refused)).toBe("aborted");
  expect(operator.progressOf(refused)).toBe("the ClickHouse operator says SpecValid is False, no such image");
});

test("hosts are pods that are ready, at the port that is named http", async () => {
  const pod = (podIP: string, status: string): Pod => ({
    spec: {
      containers: [
        {
          ports: [
            { name: "tcp", containerPort: 9000 },
            { name: "http", containerPort: 8123 },
          ],
        },
      ],
    },
    status: { podIP, conditions: [{ type: "Ready", status }] },
  });
  const pods = async () => [pod("10.0.0.1", "True"), pod("10.0.0.2", "False"), pod("fd00::1", "True"), {}];
  const [object] = operator.objectsOf(wanted, "no");
  expect(await operator.hostsOf(object as ManagedObject, pods)).toEqual(["10.0.0.1:8123", "[fd00::1]:8123"]);
});
