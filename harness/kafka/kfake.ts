/**
 * franz-go's kfake: a Kafka cluster in memory that shares no code with Apache's, and that offers the versions a test
 * selects. Built with Go once, into `$MILLRACE_CACHE/bin` (default `~/.cache/millrace/bin`).
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("kfake", import.meta.url));
const sources = ["main.go", "go.mod", "go.sum"].map((name) => readFileSync(join(folder, name)));
const hash = createHash("sha256").update(Buffer.concat(sources)).digest("hex").slice(0, 12);
const bin = join(process.env.MILLRACE_CACHE ?? join(homedir(), ".cache", "millrace"), "bin");
const program = join(bin, `kfake-${hash}`);

/** Why kfake cannot be used; undefined when it can. Builds it on first use. */
export function kfakeMissing(): string | undefined {
  if (existsSync(program)) return undefined;
  if (spawnSync("go", ["version"]).status !== 0) return `no kfake at ${program}, and no go to build it with`;
  mkdirSync(bin, { recursive: true });
  try {
    execFileSync("go", ["build", "-o", program, "."], { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  } catch (error) {
    return `kfake cannot be built: ${String((error as { stderr?: unknown }).stderr)
      .trim()
      .split("\n")
      .at(-1)}`;
  }
  return undefined;
}

export type KfakeOptions = {
  /** The release of Kafka whose versions are offered, such as `2.4`; the newest by default. */
  readonly as?: string;
  /** The newest version offered for some requests, by request key. */
  readonly newest?: ReadonlyMap<number, number>;
  /** Number of partitions by topic. */
  readonly topics: Readonly<Record<string, number>>;
  readonly login?: { readonly mechanism: string; readonly username: string; readonly password: string };
};

export type Kfake = AsyncDisposable & {
  readonly brokers: string;
  /** Versions of the requests received, by request key. */
  readonly requests: ReadonlyMap<number, ReadonlySet<number>>;
  /**
   * Appends `{"id":N,"name":"name N"}` for `from` to `to - 1`, message N to the partition N modulo the number of
   * partitions.
   */
  produce(topic: string, from: number, to: number, codec?: string): Promise<void>;
};

export async function startKfake({ as, newest = new Map(), topics, login }: KfakeOptions): Promise<Kfake> {
  const list = (pairs: Iterable<readonly [unknown, unknown]>, sign: string) =>
    [...pairs].map(([name, value]) => `${name}${sign}${value}`).join(",");
  const child = spawn(
    program,
    [
      ...(as === undefined ? [] : ["-as", as]),
      ...["-newest", list(newest, "="), "-topics", list(Object.entries(topics), ":")],
      ...(login === undefined ? [] : ["-login", `${login.mechanism}:${login.username}:${login.password}`]),
    ],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const requests = new Map<number, Set<number>>();
  const words = new EventEmitter();
  createInterface(child.stdout).on("line", (line) => {
    const [word = "", first = "", second = ""] = line.split(" ");
    if (word !== "request") words.emit(word, first);
    else requests.set(Number(first), (requests.get(Number(first)) ?? new Set()).add(Number(second)));
  });
  const [brokers] = (await Promise.race([
    once(words, "listening"),
    once(child, "exit").then(([code]) => Promise.reject(new Error(`kfake ended (${code})`))),
  ])) as [string];
  return {
    brokers,
    requests,
    produce: async (topic, from, to, codec = "none") => {
      const produced = once(words, "produced");
      child.stdin.write(`produce ${topic} ${from} ${to} ${codec}\n`);
      await produced;
    },
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, "exit");
      child.stdin.end();
      await exited;
    },
  };
}
