/**
 * Azurite, the stand-in for Azure Blob Storage. It is too large for this package's dependencies (365 MB) and is
 * expected in `$MILLRACE_CACHE/azurite` (default `~/.cache/millrace/azurite`): `npm install --prefix DIR
 * azurite@3.37.0`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { BlobServiceClient, type ContainerClient } from "@azure/storage-blob";
import { freePort } from "../network/free-port.ts";
import { answersHttp, untilAnswers } from "../until-answers.ts";

const home = join(process.env.MILLRACE_CACHE ?? join(homedir(), ".cache", "millrace"), "azurite");
const main = join(home, "node_modules", "azurite", "dist", "src", "blob", "main.js");

/** Why Azurite cannot be used; undefined when it can. */
export const azuriteMissing = existsSync(main) ? undefined : `no azurite: npm install --prefix ${home} azurite@3.37.0`;

/** The well-known key of the development account. */
export const accountKey = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

export type TestAzure = AsyncDisposable & {
  readonly connectionString: string;
  readonly container: ContainerClient;
  put(key: string, body: string): Promise<void>;
};

export async function startAzurite(containerName: string): Promise<TestAzure> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-azurite-"));
  const port = await freePort();
  const flags = ["--silent", "--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck"];
  const child = spawn(process.execPath, [main, ...flags, "--blobHost", "127.0.0.1", "--blobPort", String(port)], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const endpoint = `http://127.0.0.1:${port}/devstoreaccount1`;
  const connectionString = `DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=${accountKey};BlobEndpoint=${endpoint};`;
  await untilAnswers("azurite", child, () => answersHttp(endpoint));
  const container = BlobServiceClient.fromConnectionString(connectionString).getContainerClient(containerName);
  await container.create();
  return {
    connectionString,
    container,
    put: async (key, body) => {
      await container.getBlockBlobClient(key).upload(body, Buffer.byteLength(body));
    },
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await once(child, "exit");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
