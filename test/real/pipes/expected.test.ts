/** The whole program: the process of a pipe starts while the pipe is checked, unless that is refused at once. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { processTree } from "../../../harness/network/process-ports.ts";
import { startFauxqs } from "../../../harness/objects/pipe-stores.ts";
import { createPipe, pipeBody, untilState } from "../../../harness/pipes.ts";
import { runningService, serve, until } from "../../../harness/serve.ts";

const skip = process.platform === "linux" ? false : "the processes of a program are known on Linux only";
if (skip !== false) console.log(`skipped: ${skip}`);

/** Processes of pipe workers. One that has ended meanwhile is left out. */
function workersOf(pid: number | undefined): number[] {
  return processTree(pid as number).filter((one) => {
    try {
      return readFileSync(`/proc/${one}/cmdline`, "latin1").includes("pipe-worker");
    } catch {
      return false;
    }
  });
}

test.skipIf(skip !== false)(
  "a pipe takes the process that was started for it, or for one whose source did not answer",
  async () => {
    await using store = await startFauxqs();
    await store.put("in/a.json", '{"id":1,"name":"a"}\n');
    const served = await serve();
    await using _ = served;
    const service = await runningService(served);
    const workers = () => workersOf(served.process.pid);
    const good = pipeBody(store, "in/*.json", "t");
    await expect(createPipe(served, service, { ...good, destination: { table: "t", columns: [] } })).rejects.toThrow();
    await createPipe(served, service, { ...good, name: "later", startPaused: true });
    expect(workers(), "nothing to run").toEqual([]);
    const nowhere = pipeBody(store, "in/*.json", "u", { source: { url: "http://127.0.0.1:1/bucket/*.json" } });
    await expect(createPipe(served, service, nowhere)).rejects.toThrow(/nothing listens/);
    const [waiting] = await until("a process waits", async () => (workers().length > 0 ? workers() : undefined));
    const id = await createPipe(served, service, pipeBody(store, "in/*.json", "v", { source: { isContinuous: true } }));
    await untilState(served, service, id, "Running");
    const { workers: running } = await served.api.getSystem({ params: {} });
    expect(running).toMatchObject([{ pid: waiting, pipes: [id] }]);
    await expect(createPipe(served, service, { ...nowhere, name: "w" })).rejects.toThrow();
    // It would keep the server alive.
    await served.stop();
    expect(served.process.exitCode).toBe(0);
  },
);
