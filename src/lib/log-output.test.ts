import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { logOutput } from "./log-output.ts";
import { createLogger } from "./logger.ts";

function relayed(text: string): Promise<Record<string, unknown>[]> {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger("info", { write: (line) => void lines.push(JSON.parse(line)) });
  const output = new PassThrough();
  logOutput(output, logger, { service: "events" });
  return new Promise((resolve) => {
    output.on("close", () => setImmediate(() => resolve(lines)));
    // Split anywhere, also within a line.
    for (const part of [text.slice(0, 20), text.slice(20)]) output.write(part);
    output.end();
  });
}

test("a child's log lines keep their level and fields, and name the object", async () => {
  const line = JSON.stringify({ level: "error", time: "2026-01-01T00:00:00Z", process: "engine", msg: "it broke" });
  const [entry, ...more] = await relayed(`${line}\n`);
  expect(entry).toMatchObject({ level: "error", process: "engine", service: "events", msg: "it broke" });
  expect(more).toEqual([]);
});

test("other lines are warnings, and secrets in them are redacted", async () => {
  const secret = JSON.stringify({ level: "info", password: "hunter2", msg: "x" });
  const entries = await relayed(`Code: 62. DB::Exception: no\n\n{"level": not json\n${secret}\n`);
  expect(entries.map(({ level, msg }) => [level, msg])).toEqual([
    ["warn", "Code: 62. DB::Exception: no"],
    ["warn", '{"level": not json'],
    ["info", "x"],
  ]);
  expect(JSON.stringify(entries)).not.toContain("hunter2");
});

test("hostile lines throw nothing and are bounded", async () => {
  const deep = `{"level":"info","msg":"deep","field":${"[".repeat(30_000)}${"]".repeat(30_000)}}`;
  const entries = await relayed(
    [
      '{"level":"info","msg":{"toString":1,"valueOf":1}}',
      '{"level":"__proto__","msg":null}',
      deep,
      "x".repeat(1_000_000),
      "ä last",
    ].join("\n"),
  );
  const last = entries.pop();
  expect(entries[0]).toMatchObject({ level: "info", msg: '{"toString":1,"valueOf":1}' });
  expect(entries[1]).toMatchObject({ level: "warn" });
  expect(String(entries.at(-1)?.msg)).toHaveLength(65_536);
  expect(last).toMatchObject({ level: "warn", msg: "ä last", service: "events" });
});
