import { expect, test } from "vitest";
import { MergedMetadata } from "./merged-metadata.ts";
import type { Metadata } from "./requests.ts";

const topic = (name: string) => ({ name, id: name, isInternal: false, partitions: [] });

/** A cluster that has all topics whose names begin with "t", and refuses requests with the topic "refused". */
function cluster() {
  const requests: (readonly string[])[] = [];
  const metadata = new MergedMetadata(async (names): Promise<Metadata> => {
    requests.push(names);
    if (names.includes("refused")) throw new Error("refused");
    return { brokers: new Map(), clusterId: "c", topics: names.filter((name) => name.startsWith("t")).map(topic) };
  });
  const ask = async (...names: string[]) => (await metadata.ask(names)).topics.map(({ name }) => name);
  return { requests, ask };
}

test("what is asked for at the same time is one request, and each gets its own topics", async () => {
  const { requests, ask } = cluster();
  const answers = await Promise.all([ask("t1", "t2"), ask("t2", "missing"), ask("t3")]);
  expect(answers).toEqual([["t1", "t2"], ["t2"], ["t3"]]);
  expect(requests).toEqual([["t1", "t2", "missing", "t3"]]);
  expect(await ask("t1")).toEqual(["t1"]);
  expect(requests.length).toBe(2);
});

test("a topic that is refused fails only those that ask for it", async () => {
  const { ask } = cluster();
  const answers = await Promise.allSettled([ask("t1"), ask("refused", "t1"), ask("t2")]);
  expect(answers.map((answer) => (answer.status === "fulfilled" ? answer.value : "failed"))).toEqual([
    ["t1"],
    "failed",
    ["t2"],
  ]);
});

test("many topics are several requests", async () => {
  const { requests, ask } = cluster();
  const answers = await Promise.all(Array.from({ length: 450 }, (_, i) => ask(`t${i}`)));
  expect(answers).toEqual(Array.from({ length: 450 }, (_, i) => [`t${i}`]));
  expect(requests.map((names) => names.length)).toEqual([200, 200, 50]);
});
