/** How lists and the start of the server grow with services and pipes, and how long the installed package takes. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { cpuSecondsOf } from "../harness/process-cpu.ts";
import { type Served, serve } from "../harness/serve.ts";
import { packageRoot } from "../src/lib/program.ts";
import { median, round } from "./bench.ts";
import { memoryOf } from "./fleet.ts";
import { type Growth, measuredGrowth } from "./growth-data.ts";
import { seedPipes } from "./many-pipes.ts";

const requests = 50;
const starts = 3;

/** A data directory with so much in it, and a server that was started on it. */
async function servedWith<T>(
  amounts: { readonly services: number; readonly pipes: number },
  work: (start: () => Promise<Served>) => Promise<T>,
): Promise<T> {
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-growth-"));
  try {
    const first = await serve({ dataDir, keepData: true });
    await first.stop();
    await seedPipes(dataDir, first.credentials.organizationId, amounts);
    return await work(() => serve({ dataDir, keepData: true }));
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Lists of all pipes, none of which is cached. */
export async function listOfPipes(deadline: number): Promise<Growth> {
  const what = { name: "list", unit: "CPU us of a pipe" };
  return await measuredGrowth(what, [10, 100, 1_000, 10_000], deadline, (pipes) =>
    servedWith({ services: 10, pipes }, async (start) => {
      await using served = await start();
      const { baseUrl, organizationId, keyId, keySecret } = served.credentials;
      const headers = { authorization: `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString("base64")}` };
      const get = async (at: number) => {
        const url = `${baseUrl}/v1/organizations/${organizationId}/pipes?limit=1000&name=pipe${"%20".repeat(at)}`;
        const response = await fetch(url, { headers });
        await response.arrayBuffer();
        if (response.status !== 200) throw new Error(`${url}: ${response.status}`);
      };
      const pid = served.process.pid as number;
      for (let at = 0; at < 10; at += 1) await get(1);
      const cpu = cpuSecondsOf(pid);
      for (let at = 0; at < requests; at += 1) await get(at);
      const ms = ((cpuSecondsOf(pid) - cpu) * 1_000) / requests;
      return { cost: (ms * 1_000) / pipes, more: { "ms of a list": round(ms) } };
    }),
  );
}

/** The start with as many stopped services as pipes; memory is that of the control plane. */
export async function startOfServices(deadline: number): Promise<Growth> {
  const what = { name: "start", unit: "CPU ms of a service and its pipe" };
  return await measuredGrowth(what, [10, 100, 1_000], deadline, (services) =>
    servedWith({ services, pipes: services }, async (start) => {
      const samples: { seconds: number; cpuSeconds: number; memoryMb: number }[] = [];
      for (let round = 0; round < starts; round += 1) {
        const begun = performance.now();
        await using served = await start();
        const seconds = (performance.now() - begun) / 1000;
        const pid = served.process.pid as number;
        samples.push({ seconds, cpuSeconds: cpuSecondsOf(pid), memoryMb: memoryOf([pid]).rss });
      }
      const of = (field: keyof (typeof samples)[0]) => round(median(samples.map((sample) => sample[field])));
      const [seconds, memoryMb] = [of("seconds"), of("memoryMb")];
      return { cost: (of("cpuSeconds") * 1_000) / services, more: { seconds, memoryMb } };
    }),
  );
}

/** Seconds until the package that npm has installed is ready. */
export async function readyTimes(): Promise<Record<"readyEmptySeconds" | "readyFullSeconds", number>> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-installed-"));
  const run = promisify(execFile);
  try {
    await run("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: packageRoot });
    const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz")) as string;
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "somebody", private: true }));
    await run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", join(folder, tarball)], {
      cwd: folder,
    });
    const program = join(folder, "node_modules/millrace/bin/millrace.cjs");
    const timed = async (dataDir?: string) => {
      const seconds: number[] = [];
      // The first one fills the cache of compiled code.
      for (let at = 0; at <= starts; at += 1) {
        const begun = performance.now();
        await using _ = await serve({ program, ...(dataDir === undefined ? {} : { dataDir, keepData: true }) });
        if (at > 0) seconds.push((performance.now() - begun) / 1000);
      }
      return round(median(seconds));
    };
    const readyFullSeconds = await servedWith({ services: 1_000, pipes: 1_000 }, async (start) => {
      await using served = await start();
      await served.stop();
      return await timed(served.dataDir);
    });
    return { readyEmptySeconds: await timed(), readyFullSeconds };
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
