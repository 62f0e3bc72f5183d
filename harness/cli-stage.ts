/** A server, a bucket with one object, and the command line with credentials for both. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CommandResult } from "./cli.ts";
import { type RunOptions, runProgram } from "./cli-process.ts";
import { startTestStore, type TestStore } from "./objects/object-store.ts";
import { type Served, serve } from "./serve.ts";

export class CliStage implements AsyncDisposable {
  readonly served: Served;
  readonly store: TestStore;
  /** Where commands run. It has the file `secret`, with the secret of the bucket's key. */
  readonly folder = mkdtempSync(join(tmpdir(), "millrace-cli-"));
  readonly env: Readonly<Record<string, string>>;

  private constructor(served: Served, store: TestStore) {
    this.served = served;
    this.store = store;
    const { baseUrl, keyId, keySecret, accessToken } = served.credentials;
    this.env = {
      MILLRACE_URL: baseUrl,
      MILLRACE_KEY: `${keyId}:${keySecret}`,
      MILLRACE_ACCESS_TOKEN: accessToken,
      CLICKS_ACCESS_KEY_ID: store.accessKey.accessKeyId,
      CLICKS_SECRET_KEY: store.accessKey.secretKey,
    };
    writeFileSync(join(this.folder, "secret"), store.accessKey.secretKey);
  }

  static async open(): Promise<CliStage> {
    const [served, store] = await Promise.all([serve(), startTestStore()]);
    await store.put("in/1.json", '{"user":"ann","n":1}\n{"user":"bob","n":2}\n');
    return new CliStage(served, store);
  }

  readonly run = async (
    line: string | readonly string[],
    options: Partial<RunOptions> = {},
  ): Promise<CommandResult> => {
    const args = typeof line === "string" ? line.split(" ") : line;
    return await runProgram(args, { cwd: this.folder, ...options, env: { ...this.env, ...options.env } });
  };

  /** The words that create a pipe from objects of the bucket. */
  readonly create = (name: string, glob: string, ...more: string[]): string[] => {
    const { endpoint, bucket, accessKey } = this.store;
    return [
      ...["pipe", "create", "objects", name, "--from", `${endpoint}/${bucket}/${glob}`],
      ...["--to", name.replace("clicks", "clicks_table")],
      ...["--column", "user:String", "--column", "n:Int64", "--format", "JSONEachRow", "--auth", "IAM_USER"],
      ...["--access-key-id", accessKey.accessKeyId, "--secret-key-file", join(this.folder, "secret"), ...more],
    ];
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await this.served[Symbol.asyncDispose]();
    await this.store[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
