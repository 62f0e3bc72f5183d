/** What the engine says of queries whose end is not known. */
import { expect, test } from "vitest";
import { settle } from "./kept-answers.ts";

/** A connection that runs `first`, and what it is told when the engine runs `running`; `during`: what it runs then. */
async function told(first: string, running: readonly string[], during = first): Promise<boolean[]> {
  const heard: boolean[] = [];
  const session = { unsettled: first, settle: (isRunning: boolean) => heard.push(isRunning) };
  const rows = async <Row>() => {
    session.unsettled = during;
    return running.map((query_id) => ({ query_id })) as Row[];
  };
  await settle({ rows }, [session]);
  return heard;
}

test("a query that the engine runs goes on, and one that it does not run has ended", async () => {
  expect(await told("a", ["a", "b"])).toEqual([true]);
  expect(await told("a", ["b"])).toEqual([false]);
});

test("the answer says nothing of a query that has begun after the question", async () => {
  expect(await told("a", ["a"], "b")).toEqual([]);
  expect(await told("a", [], "b")).toEqual([]);
});
