import { expect, test } from "vitest";
import { isAbsent, kubernetesFailure } from "./failure.ts";

const url = "https://10.0.0.1:6443";
/** An error of the client library. */
const refusedWith = (code: number, status: object) =>
  Object.assign(new Error("HTTP-Code"), { code, body: JSON.stringify(status) });
const failureOf = (error: unknown) => kubernetesFailure(error, url, "write mr-1");

test("a field that the API server refuses is named, with the member of the service that determines it", () => {
  const field = "spec.configuration.clusters[0].layout.replicasCount";
  const message = `Invalid value: 9: ${field} in body should be less than or equal to 3`;
  const causes = [
    { field, message },
    { field: "spec.odd", message: "is odd" },
  ];
  const failure = failureOf(refusedWith(422, { message: `mr-1 is invalid: ${message}`, details: { causes } }));
  expect(failure.code).toBe("KUBERNETES_REFUSED");
  expect(failure.message).toBe(`Kubernetes refuses to write mr-1: mr-1 is invalid: ${message}.`);
  expect(failure.issues).toEqual([
    { path: "numReplicas", message: `${field}: ${message}` },
    { path: "spec.odd", message: "spec.odd: is odd" },
  ]);
});

test("hashes of passwords in the text of a refusal are left out", () => {
  const hash = "0123456789abcdef".repeat(4);
  const causes = [{ field: "spec.users", message: `Invalid value: "${hash}"` }];
  const failure = failureOf(refusedWith(422, { message: `bad ${hash}`, details: { causes } }));
  expect(JSON.stringify([failure.message, failure.issues])).not.toContain(hash);
});

test("a missing right, a quota, wrong credentials, a missing operator and a busy server are told apart", () => {
  const forbidden = 'clickhouseinstallations "mr-1" is forbidden: User "x" cannot patch resource';
  expect(failureOf(refusedWith(403, { message: forbidden })).message).toMatch(
    /may not write mr-1: .*Grant it with a Role/,
  );
  const quota = failureOf(refusedWith(403, { message: "exceeded quota: q, requested: memory=8Gi" }));
  expect(quota.message).toMatch(/^Kubernetes refuses to write mr-1: exceeded quota/);
  expect(quota.issues).toEqual([{ path: "maxReplicaMemoryGb", message: "exceeded quota: q, requested: memory=8Gi" }]);
  expect(failureOf(refusedWith(401, {})).message).toMatch(/does not accept the credentials/);
  const unknown = new Error("Unrecognized API version and kind: clickhouse.altinity.com/v1 ClickHouseInstallation");
  expect(failureOf(unknown).message).toMatch(/install the Altinity operator for ClickHouse\.$/);
  expect(failureOf(refusedWith(404, { message: 'namespaces "x" not found', details: {} })).message).toMatch(
    /namespaces "x"/,
  );
  expect(failureOf(refusedWith(503, {})).code).toBe("KUBERNETES_UNREACHABLE");
});

test("an API server that does not answer is named with its address", () => {
  const failure = failureOf(Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNREFUSED" } }));
  expect(failure).toMatchObject({ code: "KUBERNETES_UNREACHABLE" });
  expect(failure.message).toBe(`The API server of Kubernetes: nothing listens at ${url}; check host and port.`);
  const silent = failureOf(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
  expect(silent).toMatchObject({ code: "KUBERNETES_UNREACHABLE" });
  expect(silent.message).toBe(`The API server of Kubernetes: no answer from ${url}.`);
});

test("only an object that does not exist is absent, and not a kind", () => {
  expect(isAbsent(refusedWith(404, { details: { name: "mr-1" } }))).toBe(true);
  expect(isAbsent(Object.assign(new Error(), { code: 404, body: "404 page not found" }))).toBe(false);
  expect(isAbsent(new Error("closed"))).toBe(false);
});
