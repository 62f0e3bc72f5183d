/** A worker process and its slots, with a process that says what each test makes it say. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test, vi } from "vitest";
import { createLogger } from "../../../lib/logger.ts";
import type { FromWorker, FromWorkerSlot } from "../../protocol.ts";
import { type Fault, type Tenant, Worker } from "./worker.ts";

/** Repeats `say` messages to its parent; ends with `exit`, or when the parent disconnects. */
const program = `
  process.on("message", ({ say, exit }) => {
    if (say !== undefined) process.send(say);
    if (exit !== undefined) process.exit(exit);
  });
  process.on("disconnect", () => process.exit(0));
  process.send({ type: "load", utilization: 0.25 });`;

class Recorder implements Tenant {
  readonly pipeId: string;
  readonly work = 0;
  readonly received: FromWorkerSlot[] = [];
  end: { how: string; fault: Fault } | undefined;

  constructor(pipeId: string) {
    this.pipeId = pipeId;
  }

  receive(message: FromWorkerSlot): void {
    this.received.push(message);
  }

  ended(how: string, fault: Fault): void {
    this.end = { how, fault };
  }
}

let child: ChildProcess;
afterEach(() => child.kill("SIGKILL"));

function start(count: number) {
  child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let changes = 0;
  const changed = () => {
    changes += 1;
  };
  const worker = new Worker({ name: "w", child, logger: createLogger("silent"), changed });
  const tenants = Array.from({ length: count }, (_, at) => new Recorder(`p${at}`));
  const slots = tenants.map((tenant) => worker.open(tenant));
  const say = (message: FromWorker) => void child.send({ say: message });
  return { worker, tenants, slots, say, changes: () => changes };
}

const ends = (tenants: readonly Recorder[]) => tenants.map(({ end }) => end);

test("messages reach the slot that they name; the load is known", async () => {
  const { worker, tenants, slots, say } = start(2);
  const message = { type: "status", slot: slots[1] as number, status: { phase: "running" } } as const;
  say(message);
  await vi.waitFor(() => expect(tenants[1]?.received).toEqual([message]), 60_000);
  expect(tenants[0]?.received).toEqual([]);
  expect(worker.utilization).toBe(0.25);
  expect(worker.pipeIds).toEqual(["p0", "p1"]);
});

test("a slot that ends leaves its neighbours; the process ends with the last one", async () => {
  const { worker, tenants, slots, say } = start(2);
  say({ type: "ended", slot: slots[0] as number, failed: true });
  await vi.waitFor(() => expect(tenants[0]?.end).toEqual({ how: "an internal error", fault: "own" }), 60_000);
  expect(worker.isLeaving).toBe(false);
  expect(tenants[1]?.end).toBeUndefined();
  say({ type: "ended", slot: slots[1] as number, failed: false });
  await once(child, "exit");
  expect(tenants[1]?.end).toEqual({ how: "it has ended", fault: "own" });
  expect(worker.isOver).toBe(true);
});

test("a process without slots ends when it is asked to leave", async () => {
  const { worker, changes } = start(0);
  await once(child, "message");
  worker.leave();
  await once(child, "exit");
  expect([child.signalCode, worker.isOver, changes()]).toEqual([null, true, 2]);
});

test("a process that is killed ends all slots, and nobody knows by whose fault", async () => {
  const { tenants } = start(3);
  await once(child, "message");
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(ends(tenants)).toEqual(Array(3).fill({ how: "signal SIGKILL", fault: "unknown" }));
});

test("a process of one slot ends by its fault", async () => {
  const { tenants } = start(1);
  await once(child, "message");
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(ends(tenants)).toEqual([{ how: "signal SIGKILL", fault: "own" }]);
});

test("when the process has said whose code failed, the others are only neighbours", async () => {
  const { tenants, slots, say } = start(3);
  say({ type: "fault", slot: slots[1] as number });
  child.send({ exit: 1 });
  await once(child, "exit");
  expect(tenants.map(({ end }) => end?.fault)).toEqual(["neighbour", "own", "neighbour"]);
});

test("a slot that does not end is ended with the process, after its neighbours have left", async () => {
  const { worker, tenants, slots, say } = start(3);
  await once(child, "message");
  worker.endStuck(slots[0] as number);
  expect(worker.isLeaving, "the neighbours are asked to leave").toBe(true);
  say({ type: "ended", slot: slots[1] as number, failed: false });
  await vi.waitFor(() => expect(tenants[1]?.end).toBeDefined(), 60_000);
  expect(child.exitCode ?? child.signalCode).toBeNull();
  say({ type: "ended", slot: slots[2] as number, failed: false });
  await once(child, "exit");
  expect(child.signalCode).toBe("SIGKILL");
  expect(ends(tenants)).toEqual([
    { how: "signal SIGKILL", fault: "own" },
    { how: "it has ended", fault: "own" },
    { how: "it has ended", fault: "own" },
  ]);
});
