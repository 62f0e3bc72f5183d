/** The command line against the real API, with services and pipes that nothing runs. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CommandOptions, type CommandResult, runInside } from "../../harness/cli.ts";
import { limits } from "../../harness/limits.ts";
import { type Api, startApi } from "./harness.ts";

export type CommandLine = AsyncDisposable & {
  readonly api: Api;
  readonly url: string;
  /** Working directory and home of the commands. */
  readonly folder: string;
  /** Resolves with the id of a new running service. */
  createService(name: string, tags?: readonly object[]): Promise<string>;
  /** Resolves with the id of a new pipe. */
  createPipe(serviceId: string, name: string): Promise<string>;
  /** Runs a command with an admin's key. Spaces separate the words of a text. */
  run(line: string | readonly string[], options?: CommandOptions): Promise<CommandResult>;
};

export async function startCommandLine(): Promise<CommandLine> {
  const api = await startApi();
  const url = await api.server.listen({ host: "127.0.0.1", port: 0 });
  const folder = mkdtempSync(join(tmpdir(), "millrace-cli-"));
  return {
    api,
    url,
    folder,
    async createService(name, tags = []) {
      const { body } = await api.call("POST", "/v1/organizations/{o}/services", { body: { name, tags } });
      await api.services.setState(body.result.service.id, "running", null);
      return body.result.service.id;
    },
    async createPipe(serviceId, name) {
      const owner = { serviceId, name, sourceKind: "objectStorage", roles: [], fieldMappings: [] };
      const source = { objectStorage: { url: "http://127.0.0.1:1/bucket/*.json" } };
      const destination = { table: "events", columns: [{ name: "a", type: "UInt8" }] };
      return await api.pipes.create(
        { ...owner, source, secrets: {}, destination, scaling: {}, settings: {} },
        limits.pipes,
      );
    },
    async run(line, options = {}) {
      const args = typeof line === "string" ? line.split(" ") : line;
      const env = { MILLRACE_URL: url, MILLRACE_KEY: `${api.keyId}:${api.keySecret}`, ...options.env };
      return await runInside(args, { cwd: folder, home: folder, ...options, env });
    },
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
}
