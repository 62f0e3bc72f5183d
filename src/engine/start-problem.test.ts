import { expect, test } from "vitest";
import { startProblem } from "./start-problem.ts";

const dataDir = "/srv/millrace/services/1/data";
const output = `Code: 62. DB::Exception: Syntax error (in file ${dataDir}/store/08a/t.sql): failed at position 9. (SYNTAX_ERROR)
{"level":60,"err":{"stack":"Error: the engine has ended\\n    at file:///opt/millrace/src/engine/chdb/server.ts:21:11"}}`;

test("the engine's last exception is told, without log lines, stacks and paths of this machine", () => {
  const problem = startProblem(output, "the engine has ended", dataDir);
  expect(problem).toBe(
    "Code: 62. DB::Exception: Syntax error (in file <data>/store/08a/t.sql): failed at position 9. (SYNTAX_ERROR)",
  );
});

test("paths outside of the data directory lose their folders", () => {
  expect(startProblem("", "cannot open /opt/millrace/node_modules/lib.so", dataDir)).toBe("cannot open lib.so");
  expect(startProblem("no exception", undefined, dataDir)).toBe("the server's log has the details");
});
