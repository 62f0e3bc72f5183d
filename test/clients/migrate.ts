/**
 * golang-migrate, which connects with clickhouse-go 1: its own example of migrations before that of the engine Kafka,
 * or all of the folder `MIGRATIONS`, as Langfuse's `packages/shared/clickhouse/migrations/unclustered`.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder, type Outcome, prepareWith, runTool, type Suite } from "./suite.ts";
import { versions } from "./versions.ts";

const module = "github.com/golang-migrate/migrate/v4";
const install = "install Go (https://go.dev/dl or `apt install golang`)";

export const migrate: Suite = {
  client: "golang-migrate (Go, native)",
  version: versions.migrate,
  kind: "smoke",
  note: "its tests need Docker",
  run: async ({ host, nativePort, password }) => {
    const folder = await program();
    const given = process.env.MIGRATIONS;
    const source = given ?? (await examples());
    const url = `clickhouse://${host}:${nativePort}?username=default&password=${password}&database=default&x-multi-statement=true&x-migrations-table-engine=MergeTree`;
    const outcome = { passed: 0, failed: [] as string[], skipped: 0 };
    for (const command of [given === undefined ? ["up", "2"] : ["up"], ["version"], ["down", "-all"]]) {
      const args = ["-source", `file://${source}`, "-database", url, ...command];
      const { status, output } = await runTool(join(folder, "migrate"), args, { install });
      if (status === 0) outcome.passed += 1;
      else outcome.failed.push(`${command[0]}: ${output.trim().slice(-300).replaceAll(password, "...")}`);
    }
    return outcome satisfies Outcome;
  },
};

async function program(): Promise<string> {
  const folder = cacheFolder(`golang-migrate-${versions.migrate}`);
  if (existsSync(join(folder, "migrate"))) return folder;
  const given = { install, env: { GOBIN: folder }, cwd: "/" };
  const args = ["install", "-tags", "clickhouse", `${module}/cmd/migrate@${versions.migrate}`];
  await prepareWith("golang-migrate", "go", args, given);
  return folder;
}

async function examples(): Promise<string> {
  const args = ["mod", "download", "-json", `${module}@${versions.migrate}`];
  const output = await prepareWith("golang-migrate", "go", args, { install, env: { GOFLAGS: "-mod=mod" }, cwd: "/" });
  return join((JSON.parse(output) as { Dir: string }).Dir, "database/clickhouse/examples/migrations");
}
