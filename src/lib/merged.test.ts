import { expect, test } from "vitest";
import { merged } from "./merged.ts";

async function* numbers(values: readonly number[], log: string[] = []): AsyncGenerator<number> {
  try {
    for (const value of values) {
      yield value;
      log.push(`taken ${value}`);
    }
  } finally {
    log.push("closed");
  }
}

/** Yields nothing until it is stopped. */
async function* waiting(stopped: Promise<void>, log: string[]): AsyncGenerator<number> {
  try {
    await stopped;
    yield* [];
  } finally {
    log.push("stopped");
  }
}

test("all values arrive, those of one generator in their order", async () => {
  const all: number[] = [];
  for await (const value of merged([numbers([1, 2, 3]), numbers([10, 20])], () => {})) all.push(value);
  expect(all.filter((value) => value < 10)).toEqual([1, 2, 3]);
  expect(all.filter((value) => value >= 10)).toEqual([10, 20]);
});

test("a generator goes on only when its value was taken", async () => {
  const log: string[] = [];
  const values = merged([numbers([1, 2], log)], () => {});
  expect((await values.next()).value).toBe(1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(log).toEqual([]);
  expect((await values.next()).value).toBe(2);
  expect(log).toEqual(["taken 1"]);
  await values.return(undefined);
});

test("the first error ends all: the others are stopped and closed before it is thrown", async () => {
  const log: string[] = [];
  const stop = Promise.withResolvers<void>();
  const failing = async function* (): AsyncGenerator<number> {
    yield 1;
    throw new Error("broken");
  };
  const values = merged([failing(), waiting(stop.promise, log)], stop.resolve);
  await values.next();
  await expect(values.next()).rejects.toThrow("broken");
  expect(log).toEqual(["stopped"]);
});

test("whoever takes no more closes all", async () => {
  const log: string[] = [];
  const stop = Promise.withResolvers<void>();
  const values = merged([numbers([1, 2], log), waiting(stop.promise, log)], stop.resolve);
  await values.next();
  await values.return(undefined);
  expect(log.toSorted()).toEqual(["closed", "stopped"]);
});
