/** `millrace move-store`, between two lives of a server. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { postgresMissing, TestPostgres } from "../../../harness/postgres/postgres.ts";
import { serve } from "../../../harness/serve.ts";
import { databaseUrl } from "../../../harness/stores.ts";

const missing = postgresMissing(16);
const key = Buffer.alloc(32, 9).toString("base64");
const main = join(import.meta.dirname, "../../../src/main.ts");

describe.skipIf(missing !== undefined)(`move-store${missing ? `: ${missing}` : ""}`, () => {
  test("keys log in after the move and after the way back, and a server on the old place is refused", async () => {
    await using postgres = await TestPostgres.start({ version: 16 });
    const url = await databaseUrl(postgres, "command");
    const onSqlite = { MILLRACE_SECRET_KEY: key };
    const onPostgres = { ...onSqlite, MILLRACE_DATABASE: url };
    await using first = await serve({ env: onSqlite });
    const { dataDir, credentials } = first;
    const { organizationId } = credentials;
    const params = { organizationId };
    const move = async (env: Record<string, string>, ...args: string[]) => {
      const words = [main, "move-store", "--data-dir", dataDir, ...args];
      return (await promisify(execFile)(process.execPath, words, { env: { ...process.env, ...env } })).stdout;
    };
    await expect(move(onSqlite, "--to", url)).rejects.toThrow("another Millrace process already uses");
    await first.stop();
    expect(await move(onSqlite, "--to", url, "--dry-run")).toContain("nothing was changed");
    const told = await move(onSqlite, "--to", url);
    expect(told).toMatch(/are equal on both sides/);
    expect(told).not.toContain(encodeURIComponent(postgres.password));
    const again = { dataDir, keepData: true };
    await expect(serve({ ...again, env: onSqlite })).rejects.toThrow("has been moved to postgres://");
    {
      await using moved = await serve({ ...again, env: onPostgres });
      expect(moved.credentials.keyId).toBe(credentials.keyId);
      expect((await moved.api.getOrganization({ params })).id).toBe(organizationId);
    }
    await move(onPostgres, "--to", "sqlite");
    await expect(serve({ ...again, env: onPostgres })).rejects.toThrow("has been moved to SQLite");
    await using home = await serve({ ...again, env: onSqlite });
    expect((await home.api.getOrganization({ params })).id).toBe(organizationId);
  });
});
