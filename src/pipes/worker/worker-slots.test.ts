/** Several jobs in one worker process: who ends with whom. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test, vi } from "vitest";
import { processFile } from "../../lib/program.ts";
import type { FromWorker, FromWorkerSlot, Job, ToWorker } from "../protocol.ts";

/**
 * Makes code of a job throw where nothing catches it: in a timer that was set while the job of slot 2 called the
 * control plane, or in a promise that nobody awaits.
 */
const failing = (how: string) => `
  const send = process.send.bind(process);
  process.send = (message, ...rest) => {
    if (message.type === "call" && message.slot === 2) ${how};
    return send(message, ...rest);
  };`;

const job = (pipeId: string): Job => ({
  ...{ task: "load", pipeId, epoch: 0, sourceKind: "objectStorage", config: { url: "http://127.0.0.1:1/b/*.json" } },
  table: { kind: "table", database: "default", table: "t", columns: [] },
  ...{ destination: {}, settings: {}, scaling: {}, replica: { index: 0, count: 1, run: "r" }, fence: 1 },
  limits: { sourceOutageMs: 60_000, sourceIdleTimeoutMs: 60_000, destinationOutageMs: 60_000, retryBaseMs: 10 },
  ...{ organizationId: "o", outgoing: { reach: ["any"], setting: "--x", ownPorts: [] } },
});

let child: ChildProcess;
afterEach(() => child.kill("SIGKILL"));

function start(preload = "") {
  const args = ["--import", `data:text/javascript,${encodeURIComponent(preload)}`, processFile("pipe-worker")];
  child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "ignore", "ipc"] });
  const messages: FromWorker[] = [];
  child.on("message", (message: FromWorker) => messages.push(message));
  const tell = (message: ToWorker) => void child.send(message);
  const of = (slot: number) =>
    messages.filter((message): message is FromWorkerSlot => "slot" in message && message.slot === slot);
  return { messages, tell, of };
}

const types = (messages: readonly FromWorker[]) => messages.map(({ type }) => type);

test("each job has its own calls and its own end", async () => {
  const { tell, of } = start();
  for (const slot of [1, 2]) tell({ type: "start", slot, job: job(`p${slot}`) });
  await vi.waitFor(() => expect([types(of(1)).includes("call"), types(of(2)).includes("call")]).toEqual([true, true]), {
    timeout: 30_000,
  });
  tell({ type: "stop", slot: 1 });
  await vi.waitFor(
    () => {
      for (const asked of of(1).filter((message) => message.type === "call")) {
        tell({ type: "reply", slot: 1, id: asked.id, error: { code: "SERVICE_UNAVAILABLE", message: "away" } });
      }
      expect(of(1).at(-1)).toEqual({ type: "ended", slot: 1, failed: false });
    },
    { timeout: 30_000 },
  );
  expect(of(1).at(-2)).toEqual({ type: "status", slot: 1, status: { phase: "stopped" } });
  expect(types(of(2))).not.toContain("ended");
  expect(child.exitCode).toBeNull();
}, 60_000);

test("a job that throws what it does not handle ends alone", async () => {
  const { tell, of } = start();
  tell({ type: "start", slot: 1, job: job("p1") });
  const { limits: _, ...rest } = job("p2");
  tell({ type: "start", slot: 2, job: rest as Job });
  await vi.waitFor(() => expect(types(of(2))).toContain("ended"), { timeout: 30_000 });
  expect(of(2).at(-1)).toEqual({ type: "ended", slot: 2, failed: true });
  expect(types(of(1))).not.toContain("ended");
  expect(child.exitCode).toBeNull();
}, 60_000);

test.each([
  ["a timer", 'setTimeout(() => { throw new Error("boom") }, 5)'],
  ["a promise", 'void Promise.resolve().then(() => { throw new Error("boom") })'],
])(
  "an error in %s of one job ends the process, which says whose it was",
  async (_, how) => {
    const { tell, messages } = start(failing(how));
    for (const slot of [1, 2, 3]) tell({ type: "start", slot, job: job(`p${slot}`) });
    const [code] = await once(child, "exit");
    expect(code).toBe(1);
    expect(messages.at(-1)).toEqual({ type: "fault", slot: 2 });
  },
  60_000,
);
