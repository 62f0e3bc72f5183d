/** Columns of pipes by the command line: warnings of a sample, and new ones with their table. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CliStage } from "../../../harness/cli-stage.ts";

let stage: CliStage;
let { folder, run, create } = {} as CliStage;
beforeAll(async () => {
  stage = await CliStage.open();
  ({ folder, run, create } = stage);
  const service = "service create analytics --wait --timeout 60s --password-file".split(" ");
  expect(await run([...service, join(folder, "password")])).toMatchObject({ code: 0 });
});
afterAll(async () => await stage?.[Symbol.asyncDispose]());

test("a misspelt field is warned of when the pipe is created", async () => {
  const misspelt = create("misspelt", "in/*.json", "--start-paused", "--map", "usre=user", "--map", "n=n");
  const { code, stderr } = await run(misspelt);
  expect(code).toBe(0);
  expect(stderr).toContain('warning: fieldMappings: no sample has the field "usre": the column user stays empty');
  expect(stderr).toContain("fields that no column takes: user");
  expect(await run("pipe delete misspelt --yes --wait")).toMatchObject({ code: 0 });
});

test("columns are added to a pipe, and to its table on request", async () => {
  const columnsOf = async (pipe: string) =>
    JSON.parse((await run(`pipe get ${pipe} -o json`)).stdout).destination.columns.map(
      ({ name, type }: { name: string; type: string }) => `${name} ${type}`,
    );
  expect(await run(create("clicks", "in/*.json", "--order-by", "user", "--wait", "--timeout", "60s"))).toMatchObject({
    code: 0,
  });
  // A table of the pipe itself gets its columns by the pipe.
  expect(await run("pipe update clicks --column score:Float64")).toMatchObject({ code: 0 });
  expect(await columnsOf("clicks")).toEqual(["user String", "n Int64", "score Float64"]);
  // No ALTER TABLE changes a column that the table is sorted by.
  const sorted = await run("pipe update clicks --column user:Int64");
  expect(sorted).toMatchObject({ code: 1, stderr: expect.stringContaining("load into a new table") });
  expect(sorted.stderr).not.toContain("--alter-table");
  expect((await run("pipe errors clicks")).stderr).toMatch(
    /^No refused rows of clicks in the 7 days that are kept\.\n/,
  );
  await run(["sql", "analytics", "CREATE TABLE own (user String, n Int64) ORDER BY user"]);
  const made = await run(create("own", "in/*.json", "--existing-table", "--start-paused"));
  expect(made).toMatchObject({ code: 0 });
  const added = ["pipe", "update", "own", "--column", "points:Int64", "--map", "score=points"];
  const refused = await run(added);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("ALTER TABLE `default`.`own` ADD COLUMN");
  expect(refused.stderr).toContain("--alter-table");
  expect(await columnsOf("own")).toHaveLength(2);
  expect(await run([...added, "--alter-table"])).toMatchObject({ code: 0 });
  const { fieldMappings } = JSON.parse((await run("pipe get own -o json")).stdout);
  expect(fieldMappings.at(-1)).toEqual({ sourceField: "score", destinationField: "points" });
  const described = await run(["sql", "analytics", "DESCRIBE own", "--format", "TSV"]);
  expect(described.stdout).toMatch(/points\tInt64/);
  // What the definition itself refuses changes no table.
  const wrong = await run("pipe update own --column worse:Strin --alter-table");
  expect(wrong.code).toBe(1);
  expect((await run(["sql", "analytics", "DESCRIBE own", "--format", "TSV"])).stdout).not.toContain("worse");
  expect(await run("pipe update --all --column a:String")).toMatchObject({ code: 2 });
  expect(await run("pipe delete own --yes --wait")).toMatchObject({ code: 0 });
});
