/** What `millrace top` shows, and what its keys do. */
import { expect, test } from "vitest";
import type { PipeSummary, ServiceObject } from "../client/resolve.ts";
import { detailLines } from "./detail.ts";
import { Keys } from "./keys.ts";
import { shownPipes, type TopView, topLines } from "./view.ts";

const at = "2026-01-01T00:00:00.000Z";

function pipe(name: string, more: Partial<PipeSummary> = {}): PipeSummary {
  const facts = {
    serviceId: "s",
    serviceName: "web",
    kind: "messageBroker",
    state: "Running",
    workers: 1,
    version: 1,
  } as const;
  return { id: `id-${name}`, name, ...facts, destination: { table: name }, createdAt: at, updatedAt: at, ...more };
}

const service = { id: "s", name: "web", state: "running", pipes: { running: 3, total: 3 }, idle: {} } as ServiceObject;
const view: TopView = {
  pipes: [pipe("a", { latencySeconds: 0.25, lag: { seconds: 9 } }), pipe("b", { latencySeconds: 12.4 }), pipe("c")],
  services: [service],
  engines: [{ serviceId: "s", pid: 9, memoryLimitGb: 1, version: "1", memoryBytes: 2 ** 30, cpuCores: 0.5 }],
  workers: [
    { name: "kafka-1", pid: 7, pipes: ["id-a", "id-b"], memoryBytes: 3 * 2 ** 20, utilization: 0.123 },
    { name: "kafka-2", pid: 8, pipes: ["id-b"], memoryBytes: 2 ** 20, utilization: 0.5 },
  ],
};
const plain = { color: false, width: undefined, sort: "lag", filter: "", selected: undefined } as const;
const cells = (lines: readonly string[], start: string) => lines.find((line) => line.startsWith(start))?.split(/ {2,}/);

test("latency, processor and memory of each pipe are those of its processes; unknown ones are a dash", () => {
  const lines = topLines(view, plain);
  const columns = cells(lines, "PIPE") as string[];
  const shown = (name: string) => {
    const row = cells(lines, `web/${name}`) as string[];
    return ["LATENCY", "CPU", "MEMORY"].map((title) => row[columns.indexOf(title)]);
  };
  expect([shown("a"), shown("b"), shown("c")]).toEqual([
    ["0.25s", "0.12", "3.0 MiB"],
    ["12s", "0.62", "4.0 MiB"],
    ["-", "-", "-"],
  ]);
  expect(cells(lines, "web  ")).toEqual(["web", "running", "3/3", "-", "-", "0.5", "1.0 GiB", "-"]);
});

test("at 80 columns names of usual length are whole, beside state, speed, lag, latency, processor and memory", () => {
  const named = pipe("orders-from-shop", {
    latencySeconds: 0.25,
    rates: { rowsPerSecond: 123_456, bytesPerSecond: 1e6 },
  });
  const workers = [{ name: "kafka-1", pid: 7, pipes: [named.id], memoryBytes: 3 * 2 ** 20, utilization: 0.12 }];
  const lines = topLines({ ...view, pipes: [named], workers }, { ...plain, width: 80, selected: named.id });
  expect(lines.find((line) => line.startsWith("> web/orders-from-shop "))).toMatch(
    /123,456 .* 0.25s .* 0.12 .*3.0 MiB$/,
  );
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
});

test.each([
  ["lag", ["a", "b", "c"]],
  ["latency", ["b", "a", "c"]],
  ["cpu", ["b", "a", "c"]],
  ["memory", ["b", "a", "c"]],
  ["name", ["a", "b", "c"]],
] as const)("sorted by %s, the largest first and the unknown last", (sort, names) => {
  expect(shownPipes(view, { sort, filter: "" }).map(({ name }) => name)).toEqual(names);
});

test("the detail of a pipe says which processes it has, and which of them it shares", () => {
  const failing = pipe("b", { stateMessage: "no broker", lastError: { message: "no broker", at }, rows: 5, bytes: 10 });
  const lines = detailLines(view, failing, plain).join("\n");
  expect(lines).toMatch(/^pipe +web\/b$/m);
  expect(lines).toMatch(/^reason +no broker$/m);
  expect(lines).toMatch(/^last error +no broker \(\d+d ago\)$/m);
  expect(lines).toMatch(/^loaded +5 rows, 10 B$/m);
  expect(lines).toMatch(/^process +kafka-1, pid 7: 0.12 CPU, 3.0 MiB, shared with 1 more$/m);
  expect(lines).toMatch(/^process +kafka-2, pid 8: 0.5 CPU, 1.0 MiB$/m);
});

test("keys select, open and close a pipe, and are text while a filter is typed", () => {
  const keys = new Keys();
  const press = (text: string) => keys.take(Buffer.from(text));
  press("j");
  press("\u001b[B");
  press("\u001b[A");
  expect([keys.moves(), keys.moves()]).toEqual([1, 0]);
  press("\r");
  expect(keys.detail).toBe(true);
  press("\u001b");
  expect(keys.detail).toBe(false);
  press("s");
  expect(keys.sort).toBe("rows/s");
  for (const key of ["/", "q", "j", "\u007f", "\r"]) press(key);
  expect([keys.filter, keys.typing, keys.detail, keys.ended, keys.moves()]).toEqual(["q", false, false, false, 0]);
  press("q");
  expect(keys.ended).toBe(true);
});
