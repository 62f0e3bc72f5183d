/**
 * Loopback ports for servers that are about to start. A port that the kernel chose could go to another listener or
 * connection before its server listens, so these lie below those that the kernel chooses from and those of services
 * (`--service-ports`), and no other process is given the same one.
 */
import { once } from "node:events";
import { createServer, type ListenOptions } from "node:net";

const [first, last] = [10_000, 20_999];
let next = first + Math.floor(Math.random() * (last - first));

/** `count` different ports on which nothing listens. They are this process's until it ends. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tried = 0; ports.length < count; tried += 1) {
    if (tried > last - first) throw new Error(`no ${count} ports from ${first} to ${last} are free`);
    const port = next;
    next = port === last ? first : port + 1;
    if ((await isClaimed(port)) && (await isFree(port))) ports.push(port);
  }
  return ports;
}

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port as number;
}

/** Keeps a name of the kernel, which is free again when the process has ended, however it ends. */
async function isClaimed(port: number): Promise<boolean> {
  if (process.platform !== "linux") return true;
  return (await listening({ path: `\0millrace-port-${port}` })) !== undefined;
}

async function isFree(port: number): Promise<boolean> {
  const probe = await listening({ host: "127.0.0.1", port });
  if (probe === undefined) return false;
  await new Promise((resolve) => probe.close(resolve));
  return true;
}

/** Undefined where something else listens. */
async function listening(options: ListenOptions) {
  const server = createServer().unref().listen(options);
  return await once(server, "listening").then(
    () => server,
    () => undefined,
  );
}
