/**
 * The collector's ClickHouse exporter, with a generator of random telemetry. Built with Go once, into
 * `$MILLRACE_CACHE/bin` (default `~/.cache/millrace/bin`).
 */
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { BenchService } from "../serve.ts";
import type { Signal } from "./telemetry.ts";

const folder = fileURLToPath(new URL("exporter", import.meta.url));
const sources = ["main.go", "go.mod", "go.sum"].map((name) => readFileSync(join(folder, name)));
const hash = createHash("sha256").update(Buffer.concat(sources)).digest("hex").slice(0, 12);
const bin = join(process.env.MILLRACE_CACHE ?? join(homedir(), ".cache", "millrace"), "bin");
const program = join(bin, `otel-exporter-${hash}`);

/** Why the exporter cannot be used; undefined when it can. Builds it on first use. */
export function exporterMissing(): string | undefined {
  if (existsSync(program)) return undefined;
  if (spawnSync("go", ["version"]).status !== 0) return `no exporter at ${program}, and no go to build it with`;
  mkdirSync(bin, { recursive: true });
  try {
    execFileSync("go", ["build", "-o", program, "."], { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  } catch (error) {
    const output = String((error as { stderr?: unknown }).stderr).trim();
    return `the exporter cannot be built: ${output.split("\n").at(-1)}`;
  }
  return undefined;
}

export type ExportedRequest = { readonly signal: Signal; readonly body: Buffer };

/** Exports random requests into a database of the service, and returns them. */
export async function exportedBy(
  service: BenchService,
  {
    nativePort,
    database,
    seed,
    count,
    into,
  }: {
    readonly nativePort: number;
    readonly database: string;
    readonly seed: number;
    readonly count: number;
    /** A folder for files. */
    readonly into: string;
  },
): Promise<ExportedRequest[]> {
  const endpoint = `tcp://${service.host}:${nativePort}`;
  await promisify(execFile)(program, [into, endpoint, database, service.password, String(seed), String(count)]);
  return readdirSync(into)
    .sort()
    .map((name) => ({ signal: name.split(".")[1] as Signal, body: readFileSync(join(into, name)) }));
}
