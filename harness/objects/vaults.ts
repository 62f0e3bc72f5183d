/** S3 servers on loopback for backups: fauxqs in this process, and versitygw, a real one, where it is installed. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildApp } from "fauxqs";
import { requireTool } from "../missing.ts";
import { freePort } from "../network/free-port.ts";
import { answersHttp, untilAnswers } from "../until-answers.ts";
import { versitygw, versitygwMissing } from "./versitygw.ts";

export type Vault = AsyncDisposable & { readonly endpoint: string };

/** The credentials of every server. */
export const vaultKeys = { accessKeyId: "backup-key", secretAccessKey: "backup+secret/with=signs" };

export async function startFauxqs(): Promise<Vault> {
  const app = buildApp({ logger: false });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const endpoint = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  return { endpoint, [Symbol.asyncDispose]: () => app.close() };
}

/** Throws MissingTool when it is not installed. */
export async function startVersitygw(): Promise<Vault> {
  requireTool(versitygwMissing);
  const folder = mkdtempSync(join(tmpdir(), "millrace-versitygw-"));
  mkdirSync(join(folder, "buckets"));
  const port = await freePort();
  const { accessKeyId, secretAccessKey } = vaultKeys;
  const args = ["--port", `127.0.0.1:${port}`, "posix", join(folder, "buckets")];
  const child = spawn(versitygw, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: secretAccessKey },
  });
  const endpoint = `http://127.0.0.1:${port}`;
  await untilAnswers("versitygw", child, () => answersHttp(endpoint));
  return {
    endpoint,
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
