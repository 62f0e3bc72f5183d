/** Proxies as operators run them in front of Millrace, which send PROXY headers: HAProxy, and nginx with `stream`. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

export type ProxyRoute = {
  /** On 127.0.0.1; the proxy listens on all loopback addresses. */
  readonly port: number;
  /** On 127.0.0.1. */
  readonly target: number;
  /** Only HAProxy knows version 2. */
  readonly version: 1 | 2;
};

const nginxModule = "/usr/lib/nginx/modules/ngx_stream_module.so";

/** Why it cannot run here; undefined: it can. */
export function haproxyMissing(): string | undefined {
  return spawnSync("haproxy", ["-v"]).status === 0 ? undefined : "no haproxy (apt-get install haproxy)";
}

/** Why it cannot run here; undefined: it can. */
export function nginxStreamMissing(): string | undefined {
  const runs = spawnSync("nginx", ["-v"]).status === 0 && existsSync(nginxModule);
  return runs ? undefined : "no nginx with its stream module (apt-get install nginx-light libnginx-mod-stream)";
}

/** Resolves when it listens. `source` is the address from which it connects. */
export async function startHaproxy(routes: readonly ProxyRoute[], source: string): Promise<AsyncDisposable> {
  const listeners = routes.map(({ port, target, version }) =>
    [
      `listen at${port}`,
      `  bind 127.0.0.1:${port}`,
      `  server millrace 127.0.0.1:${target} source ${source} ${version === 1 ? "send-proxy" : "send-proxy-v2"}`,
    ].join("\n"),
  );
  const defaults = "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n";
  return await start(`${defaults}${listeners.join("\n")}\n`, (file) => ["haproxy", ["-db", "-f", file]], routes);
}

/** Resolves when it listens. `source` is the address from which it connects. */
export async function startNginxStream(routes: readonly ProxyRoute[], source: string): Promise<AsyncDisposable> {
  const servers = routes.map(
    ({ port, target }) =>
      `server { listen 127.0.0.1:${port}; proxy_pass 127.0.0.1:${target}; proxy_bind ${source}; proxy_protocol on; }`,
  );
  const config = (dir: string) =>
    [
      `load_module ${nginxModule};`,
      `daemon off; master_process off; pid ${dir}/pid; error_log ${dir}/log;`,
      "events {}",
      `stream { ${servers.join("\n")} }\n`,
    ].join("\n");
  return await start(config, (file) => ["nginx", ["-c", file, "-e", `${file}.log`]], routes);
}

type Command = readonly [program: string, args: readonly string[]];

async function start(
  config: string | ((dir: string) => string),
  commandOf: (file: string) => Command,
  routes: readonly ProxyRoute[],
): Promise<AsyncDisposable> {
  const dir = mkdtempSync(join(tmpdir(), "millrace-proxy-"));
  const file = join(dir, "config");
  writeFileSync(file, typeof config === "string" ? config : config(dir));
  const [program, args] = commandOf(file);
  const child = spawn(program, args, { stdio: "inherit" });
  await Promise.all(routes.map(({ port }) => listening(port, child)));
  return {
    [Symbol.asyncDispose]: async () => {
      const ended = child.exitCode === null ? once(child, "exit") : undefined;
      child.kill("SIGKILL");
      await ended;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function listening(port: number, child: ChildProcess): Promise<void> {
  while (child.exitCode === null) {
    const probe = connect(port, "127.0.0.1");
    const isOpen = await new Promise<boolean>((resolve) => {
      probe.once("connect", () => resolve(true));
      probe.once("error", () => resolve(false));
    });
    probe.destroy();
    if (isOpen) return;
    await delay(25);
  }
  throw new Error("the proxy has ended");
}
