/** `millrace api METHOD PATH`. */
import type { Command } from "commander";
import type { CliClient } from "../client/client.ts";
import { bodyText } from "../client/http.ts";
import { usageError } from "../errors.ts";
import type { Shell } from "../shell.ts";

/** Adds the arguments of `api`. */
export function addApi(command: Command, shell: Shell): void {
  command
    .argument("<method>", "GET, POST, PUT, PATCH or DELETE")
    .argument("<path>", "Path such as /v1/organizations/{organizationId}/services; {o} is the organization too")
    .option("-d, --data <data>", "JSON body; @FILE reads a file, @- reads stdin")
    .option("--paginate", "With GET: all pages, one response per line")
    .action(async (given: string, path: string, flags: { data?: string; paginate?: boolean }) => {
      const method = given.toUpperCase();
      if (!/^(GET|POST|PUT|PATCH|DELETE)$/.test(method)) throw usageError(`${given} is not a method`);
      if (!path.startsWith("/")) throw usageError(`${path}: a path begins with /`);
      const client = await shell.client();
      const named = /\{(organizationId|o)\}/g;
      const full = named.test(path) ? path.replaceAll(named, await client.organizationId()) : path;
      if (flags.paginate === true) {
        if (method !== "GET") throw usageError("--paginate is for GET");
        return await printPages(shell, client, full);
      }
      const response = await client.raw({ method, path: full, body: await bodyOf(shell, flags.data) });
      for await (const chunk of response) await shell.write(chunk as Buffer);
      if (shell.io.stdout.isTTY === true) await shell.write("\n");
    });
}

/** Every page names the next one. */
async function printPages(shell: Shell, client: CliClient, path: string): Promise<void> {
  const url = new URL(path, client.credentials.baseUrl);
  for (;;) {
    const response = await client.raw({ method: "GET", path: `${url.pathname}${url.search}` });
    const text = await bodyText(response);
    // As the server wrote it: parsed numbers may lose digits.
    await shell.write(`${text.replaceAll("\n", " ").trim()}\n`);
    const page = JSON.parse(text) as Page;
    const next = page.result?.nextCursor ?? page.nextCursor ?? linkedCursor(response.headers.link?.toString());
    if (next === undefined) return;
    url.searchParams.set("cursor", next);
  }
}

/** Lists without an object around them name the next page in a header. */
function linkedCursor(link: string | undefined): string | undefined {
  const target = /<([^>]*)>; rel="next"/.exec(link ?? "")?.[1];
  if (target === undefined) return undefined;
  return new URL(target, "http://localhost").searchParams.get("cursor") ?? undefined;
}

/** Only the management API has an envelope. */
type Page = { readonly nextCursor?: string; readonly result?: { readonly nextCursor?: string } | null };

async function bodyOf(shell: Shell, data: string | undefined): Promise<string | undefined> {
  return data?.startsWith("@") === true ? await shell.read(data.slice(1)) : data;
}
