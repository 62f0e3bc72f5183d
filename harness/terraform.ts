/**
 * Terraform with the providers of ClickHouse Cloud and of ClickHouse itself. `MILLRACE_TERRAFORM_PROVIDER` names the
 * folder of the programs `terraform-provider-clickhouse` and `terraform-provider-clickhousedbops`. Nothing is
 * downloaded.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FirstCredentials } from "../src/api/first-credentials.ts";

const examples = fileURLToPath(new URL("../examples/terraform/", import.meta.url));
const folderOfProvider = process.env.MILLRACE_TERRAFORM_PROVIDER;

/** Why it cannot run; undefined when it can. */
export function terraformMissing(): string | undefined {
  if (folderOfProvider === undefined) {
    return "no MILLRACE_TERRAFORM_PROVIDER, the folder of the program terraform-provider-clickhouse";
  }
  if (!existsSync(folderOfProvider)) return `MILLRACE_TERRAFORM_PROVIDER names ${folderOfProvider}, which is not there`;
  try {
    execFileSync("terraform", ["version"], { stdio: "ignore", env: { ...process.env, CHECKPOINT_DISABLE: "1" } });
    return undefined;
  } catch {
    return "no terraform in the PATH";
  }
}

export type TerraformFolder = Disposable & {
  write(name: string, text: string): void;
  /** Exit code and output of a command, with these variables. */
  run(args: readonly string[], variables?: object): Promise<{ readonly code: number; readonly output: string }>;
};

/** A folder with a state of its own: that of the example, or `files` by name. */
export function terraformFolder(
  credentials: FirstCredentials,
  files?: Readonly<Record<string, string>>,
): TerraformFolder {
  const folder = mkdtempSync(join(tmpdir(), "millrace-terraform-"));
  if (files === undefined) cpSync(examples, folder, { recursive: true });
  for (const [name, text] of Object.entries(files ?? {})) writeFileSync(join(folder, name), text);
  const rc = join(folder, "terraformrc");
  const own = JSON.stringify(folderOfProvider);
  const overrides = `dev_overrides {\n    "ClickHouse/clickhouse" = ${own}\n    "ClickHouse/clickhousedbops" = ${own}\n  }`;
  writeFileSync(rc, `disable_checkpoint = true\nprovider_installation {\n  ${overrides}\n}\n`);
  const env = {
    ...{
      PATH: process.env.PATH ?? "",
      HOME: folder,
      TF_CLI_CONFIG_FILE: rc,
      CHECKPOINT_DISABLE: "1",
      TF_IN_AUTOMATION: "1",
    },
    ...{ CLICKHOUSE_API_URL: credentials.cloudApiUrl, CLICKHOUSE_ORG_ID: credentials.organizationId },
    ...{ CLICKHOUSE_CLOUD_API_KEY: credentials.keyId, CLICKHOUSE_CLOUD_API_SECRET: credentials.keySecret },
  };
  return {
    write: (name, text) => writeFileSync(join(folder, name), text),
    run: async (args, variables = {}) => {
      writeFileSync(join(folder, "test.auto.tfvars.json"), JSON.stringify(variables));
      const child = spawn("terraform", [...args, "-no-color"], { cwd: folder, env });
      let output = "";
      for (const stream of [child.stdout, child.stderr]) {
        stream.on("data", (chunk) => {
          output += String(chunk);
        });
      }
      const [code] = await once(child, "close");
      return { code: code as number, output };
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
