import { expect, test } from "vitest";
import { backupLocationView, servicePortsView } from "./system.ts";

test("a bucket is named without its endpoint, which may hold a password", () => {
  const bucket = { kind: "s3", bucket: "b", prefix: "p/", endpoint: "http://u:pw@h:1", region: "eu" } as const;
  const state = { checkedAt: "2026-01-01T00:00:00.000Z", problem: "Access Denied" };
  expect(backupLocationView(bucket, state)).toEqual({
    place: "s3://b/p/",
    writable: false,
    checkedAt: state.checkedAt,
    problem: "Access Denied",
  });
  expect(backupLocationView(bucket, undefined)).toEqual({ place: "s3://b/p/" });
});

test("ports of all organizations are counted, and only services of the caller's are named", () => {
  const services = [
    { id: "a", organizationId: "own", port: 100 },
    { id: "b", organizationId: "other", port: 101 },
    { id: "c", organizationId: "own", port: 500 },
  ];
  const problems = new Map([
    ["a", "Port 100 is in use by another program."],
    ["b", "Port 101 is in use by another program."],
  ]);
  expect(servicePortsView("100-199", services, problems, "own")).toEqual({
    first: 100,
    last: 199,
    used: 2,
    problems: [{ serviceId: "a", port: 100, problem: "Port 100 is in use by another program." }],
  });
});
