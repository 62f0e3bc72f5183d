/** Requests for services in Kubernetes that are refused without a cluster. test/real/kubernetes has the others. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { runInside } from "../../harness/cli.ts";
import { type Api, startApi } from "./harness.ts";

const services = "/v1/organizations/{o}/services";
let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api[Symbol.asyncDispose]());

test.each([
  [{}, "runtime", /must be embedded or external: this server was started without --kubernetes-namespace/],
  [{ connection: { urls: ["http://a"], username: "u", password: "p" } }, "connection", /requires runtime external/],
  [{ backupId: "0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f9" }, "backupId", /cannot be filled from a backup/],
])("%j is refused, and nothing is created", async (more, path, message) => {
  const answer = await api.call("POST", services, { body: { name: "s", runtime: "kubernetes", ...more } });
  expect(answer.status).toBe(400);
  expect(answer.body.issues).toEqual([{ path, message: expect.stringMatching(message) }]);
  expect((await api.call("GET", services)).body.result).toEqual([]);
});

test("the command line asks for one with --kubernetes, and shows the refusal", async () => {
  const url = await api.server.listen({ host: "127.0.0.1", port: 0 });
  const env = { MILLRACE_URL: url, MILLRACE_KEY: `${api.keyId}:${api.keySecret}` };
  const run = (...more: string[]) =>
    runInside(["service", "create", "s", ...more], { cwd: api.dataDir, home: api.dataDir, env });
  const refused = await run("--kubernetes", "--replicas", "2");
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toMatch(/without --kubernetes-namespace/);
  expect((await run("--kubernetes", "--external", "http://a")).stderr).toMatch(/cannot be combined/);
});
