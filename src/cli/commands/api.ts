/** `millrace api METHOD PATH`. */
import type { Command } from "commander";
import { usageError } from "../errors.ts";
import type { Shell } from "../shell.ts";

/** Adds the arguments of `api`. */
export function addApi(command: Command, shell: Shell): void {
  command
    .argument("<method>", "GET, POST, PUT, PATCH or DELETE")
    .argument("<path>", "Path such as /v1/organizations/{organizationId}/services; {o} is the organization too")
    .option("-d, --data <data>", "JSON body; @FILE reads a file, @- reads stdin")
    .action(async (given: string, path: string, flags: { data?: string }) => {
      const method = given.toUpperCase();
      if (!/^(GET|POST|PUT|PATCH|DELETE)$/.test(method)) throw usageError(`${given} is not a method`);
      if (!path.startsWith("/")) throw usageError(`${path}: a path begins with /`);
      const client = await shell.client();
      const named = /\{(organizationId|o)\}/g;
      const full = named.test(path) ? path.replaceAll(named, await client.organizationId()) : path;
      const response = await client.raw({ method, path: full, body: await bodyOf(shell, flags.data) });
      for await (const chunk of response) await shell.write(chunk as Buffer);
      if (shell.io.stdout.isTTY === true) await shell.write("\n");
    });
}

async function bodyOf(shell: Shell, data: string | undefined): Promise<string | undefined> {
  return data?.startsWith("@") === true ? await shell.read(data.slice(1)) : data;
}
