/** `npm run bench -- compare` finds a commit that made something slower. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { compareCommits } from "../../../bench/compare.ts";

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** A benchmark like ours: processor time of some work against that of a peer, in turns. */
const benchProgram = `
import { work } from "../src/work.mjs";
const spin = (turns) => { let x = 0; for (let i = 0; i < turns * 1e4; i += 1) x = (x * 31 + i) | 0; return x; };
const cpuOf = (run) => { const from = process.cpuUsage(); run(); const { user, system } = process.cpuUsage(from); return user + system; };
const ratios = [];
for (let turn = 0; turn < 15; turn += 1) { const peer = cpuOf(() => spin(100)); ratios.push(peer / cpuOf(() => spin(work))); }
const ratio = ratios.sort((a, b) => a - b)[7];
console.log(JSON.stringify({ bench: process.argv[2], ok: true, ratio }));
`;

test("a commit that is a fifth slower is found, and one that changes nothing is not", async () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-compare-"));
  folders.push(folder);
  vi.stubEnv("MILLRACE_CACHE", join(folder, "cache"));
  const shown = vi.spyOn(console, "log").mockImplementation(() => {});
  const checkout = join(folder, "checkout");
  for (const part of ["bench", "src"]) mkdirSync(join(checkout, part), { recursive: true });
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=x", "-c", "user.email=x@x.example", ...args], { cwd: checkout });
  const commit = (work: number, subject: string) => {
    writeFileSync(join(checkout, "src/work.mjs"), `export const work = ${work}; // ${subject}\n`);
    git("add", "--all");
    git("commit", "--quiet", "--message", subject);
  };
  writeFileSync(join(checkout, "package.json"), '{"type":"module","scripts":{"bench":"node bench/main.mjs"}}');
  writeFileSync(join(checkout, "bench/main.mjs"), benchProgram);
  writeFileSync(join(checkout, "bench/work.bench.ts"), "");
  git("init", "--quiet");
  commit(100, "first");
  commit(100, "equal");
  expect(await compareCommits(checkout, "HEAD~1", ["work"])).toBe(true);
  commit(120, "slower");
  expect(await compareCommits(checkout, "HEAD~1", ["work"])).toBe(false);
  expect(shown.mock.lastCall?.[0]).toContain('"worse":["work.ratio"]');
  await expect(compareCommits(checkout, "HEAD", ["none"])).rejects.toThrow("not in both commits: none");
});
