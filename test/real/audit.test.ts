/** Logins and refusals of database users are in the audit trail, also those in the engine's process. */
import { expect, test } from "vitest";
import { query, runningService, serve, until } from "../../harness/serve.ts";

test("logins, wrong passwords and refused statements of database users", async () => {
  await using served = await serve();
  const service = await runningService(served);
  await query(service, "SELECT 1");
  await query(service, "SELECT 2");
  await expect(query(service, "SELECT * FROM file('/etc/passwd', 'LineAsString')")).rejects.toThrow();
  for (let i = 0; i < 3; i += 1) await expect(query({ ...service, password: "no" }, "SELECT 1")).rejects.toThrow();
  const { organizationId } = served.credentials;
  const events = async () =>
    (await served.api.listAuditEvents({ params: { organizationId }, query: { limit: 100 } })).filter(
      ({ serviceId }) => serviceId === service.id,
    );
  await until("all are there", async () => new Set((await events()).map(({ type }) => type)).size === 3);
  const found = await events();
  const one = (type: string) => found.find((event) => event.type === type);
  expect(one("login")).toMatchObject({ actorType: "database_user", actorId: "default", actorIpAddress: "127.0.0.1" });
  expect(one("login_refused")?.count).toBe(3);
  expect(one("statement_refused")).toMatchObject({ actorId: "default", count: 1 });
  expect(JSON.stringify(found)).not.toContain("/etc/passwd");
});
