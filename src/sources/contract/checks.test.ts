import { expect, test } from "vitest";
import { AppError } from "../../lib/errors.ts";
import { CheckRun } from "./checks.ts";

const issue = { path: "source.messageBroker.brokers", message: "no" };
const failing =
  (code: ConstructorParameters<typeof AppError>[0], path = issue.path) =>
  async () => {
    throw new AppError(code, "no", { issues: [{ ...issue, path }] });
  };

test("a run that creates stops at the first failure; a report goes on with the next group", async () => {
  const creating = new CheckRun();
  await expect(creating.group("table", () => creating.check("table", failing("DESTINATION_INVALID")))).rejects.toThrow(
    "no",
  );
  const report = new CheckRun({ goesOn: true });
  expect(await report.group("table", () => report.check("table", failing("DESTINATION_INVALID")))).toBeUndefined();
  expect(await report.group("mapping", () => report.check("mapping", () => 7))).toBe(7);
  expect(report.outcomes).toMatchObject([
    { name: "table", ok: false, issues: [issue], remedy: expect.stringContaining("destination") },
    { name: "mapping", ok: true },
  ]);
});

test.each([
  ["SOURCE_UNREACHABLE", issue.path, ["connection"]],
  ["SOURCE_ADDRESS_REFUSED", issue.path, ["connection"]],
  ["SOURCE_INVALID", "source.relationalDb.caCertificate", ["connection"]],
  ["SOURCE_UNAUTHORIZED", issue.path, ["connection", "login"]],
  ["SOURCE_INVALID", "source.messageBroker.topics", ["connection", "login", "topics"]],
] as const)("the first exchange fails by %s of %s in its last step", async (code, path, names) => {
  const run = new CheckRun({ goesOn: true });
  await run.group("connection", () => run.reach("topics", failing(code, path)));
  expect(run.outcomes.map(({ name }) => name)).toEqual(names);
  expect(run.outcomes.map(({ ok }) => ok)).toEqual(names.map((_, at) => at < names.length - 1));
});

test("a failure between checks, and an interruption, are named; what says nothing of the definition is thrown", async () => {
  const run = new CheckRun({ goesOn: true });
  await run.group("connection", failing("SOURCE_INVALID"));
  void run.check("samples", () => new Promise(() => {}));
  await run.group("service", failing("SOURCE_UNREACHABLE"));
  expect(run.outcomes.map(({ name }) => name)).toEqual(["connection", "samples"]);
  await expect(run.group("service", failing("TOO_MANY_REQUESTS"))).rejects.toMatchObject({ code: "TOO_MANY_REQUESTS" });
  expect(await run.look("tables", () => [issue])).toEqual([issue]);
  expect(run.outcomes.at(-1)).toMatchObject({ name: "tables", ok: false, issues: [issue] });
});
