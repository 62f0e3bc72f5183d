/** A real engine host behind a real gateway, for the suites of this folder. */
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Gateway } from "../../src/endpoint/gateway/gateway.ts";
import { type EngineHostProcess, spawnEngineHost } from "../../src/engine/spawn.ts";
import { createLogger } from "../../src/lib/logger.ts";

export type Answer = { status: number; text: string; headers: Headers };

export const stageService = {
  id: "s",
  name: "s",
  host: "127.0.0.1",
  port: 0,
  ipAccessList: [{ source: "127.0.0.1" }],
  users: [
    { name: "default", passwordSha256Hex: sha256("secret"), readonly: false },
    { name: "reader", passwordSha256Hex: sha256("reader"), readonly: true },
  ],
};

export class Stage {
  readonly dir: string;
  readonly gateway: Gateway;
  host: EngineHostProcess;
  /** False: every request passes through the gateway's process, as while a service wakes. */
  handsOff = true;
  /** Number of requests that passed through the gateway's process. */
  leases = 0;
  #restarting: Promise<void> | undefined;
  readonly #maxQueries: number | undefined;

  constructor(dir: string, host: EngineHostProcess, maxQueries: number | undefined) {
    this.dir = dir;
    this.host = host;
    this.#maxQueries = maxQueries;
    this.gateway = new Gateway({
      logger: createLogger("fatal"),
      backend: {
        acquire: async () => {
          this.leases += 1;
          await this.#restarting;
          return { forwardAddress: this.host.forwardAddress, release: () => {} };
        },
        handoff: () => (this.handsOff && this.host.handoff.open ? this.host.handoff : undefined),
      },
    });
  }

  static async open(options: { maxQueries?: number } = {}): Promise<Stage> {
    const dir = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "mr-test-"));
    const stage = new Stage(dir, await start(dir, options.maxQueries), options.maxQueries);
    await stage.gateway.sync([stageService]);
    return stage;
  }

  get url(): string {
    return `http://127.0.0.1:${this.gateway.portOf("s")}`;
  }

  /** One POST as `default`; `params` become URL parameters. */
  async query(sql: string | Buffer, params: Record<string, string> = {}, init: RequestInit = {}): Promise<Answer> {
    const answer = await fetch(`${this.url}/?${new URLSearchParams(params)}`, {
      method: "POST",
      body: init.method === "GET" ? undefined : (sql as string),
      signal: AbortSignal.timeout(60_000),
      ...init,
      headers: { "X-ClickHouse-User": "default", "X-ClickHouse-Key": "secret", ...init.headers },
    });
    return { status: answer.status, text: await answer.text(), headers: answer.headers };
  }

  /** Like `query`, but throws on an error. The result has no final line end. */
  async ok(sql: string | Buffer, params: Record<string, string> = {}, init: RequestInit = {}): Promise<string> {
    const answer = await this.query(sql, params, init);
    if (answer.status !== 200) throw new Error(`HTTP ${answer.status}: ${answer.text}`);
    return answer.text.replace(/\n$/, "");
  }

  async restart(): Promise<void> {
    this.#restarting = start(this.dir, this.#maxQueries).then((host) => {
      this.host = host;
    });
    await this.#restarting;
  }

  async close(): Promise<void> {
    await this.gateway.close();
    await this.host.stop(3_000);
    rmSync(this.dir, { recursive: true, force: true });
  }
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

async function start(dir: string, maxQueries: number | undefined): Promise<EngineHostProcess> {
  return await spawnEngineHost({
    dataDir: join(dir, "data"),
    runDir: join(dir, "run", "files"),
    maxMemoryBytes: 2e9,
    ...(maxQueries === undefined ? {} : { maxQueries }),
    users: stageService.users,
    logLevel: "fatal",
  });
}
