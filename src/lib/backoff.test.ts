import { describe, expect, test } from "vitest";
import { Backoff, retry } from "./backoff.ts";

test("a backoff doubles up to its cap, in the upper half of each delay, and starts again after a reset", () => {
  const backoff = new Backoff({ baseMs: 100, capMs: 1_000 });
  for (const full of [100, 200, 400, 800, 1_000, 1_000]) {
    const ms = backoff.next();
    expect(ms).toBeGreaterThanOrEqual(full / 2);
    expect(ms).toBeLessThanOrEqual(full);
  }
  backoff.reset();
  expect(backoff.next()).toBeLessThanOrEqual(100);
});

describe("retry", () => {
  const fast = () => new Backoff({ baseMs: 1, capMs: 1 });
  const again = () => undefined;
  const { signal } = new AbortController();

  test("repeats until the work succeeds", async () => {
    const errors: unknown[] = [];
    let attempts = 0;
    const work = async () => {
      attempts += 1;
      if (attempts < 3) throw new Error(`attempt ${attempts}`);
      return "done";
    };
    const classify = (error: unknown) => void errors.push((error as Error).message);
    expect(await retry(work, { signal, backoff: fast(), classify })).toBe("done");
    expect(errors).toEqual(["attempt 1", "attempt 2"]);
  });

  test("ends with what `classify` returns or throws, after one attempt", async () => {
    let attempts = 0;
    const work = async () => {
      attempts += 1;
      throw new Error("broken");
    };
    const options = { signal, backoff: fast() };
    expect(await retry(work, { ...options, classify: () => "given up" })).toBe("given up");
    const rethrow = (error: unknown) => {
      throw error;
    };
    await expect(retry(work, { ...options, classify: rethrow })).rejects.toThrow("broken");
    expect(attempts).toBe(2);
  });

  test("ends in the middle of a pause when the signal aborts, and does not begin when it has", async () => {
    const stopping = new AbortController();
    let attempts = 0;
    const work = async () => {
      attempts += 1;
      setImmediate(() => stopping.abort());
      throw new Error("broken");
    };
    const options = { signal: stopping.signal, backoff: new Backoff({ baseMs: 1e9, capMs: 1e9 }), classify: again };
    expect(await retry(work, options)).toBeUndefined();
    expect(await retry(work, options)).toBeUndefined();
    expect(attempts).toBe(1);
  });

  test("does not classify an attempt that failed because of the signal", async () => {
    const stopping = new AbortController();
    const work = async () => {
      stopping.abort();
      throw new Error("broken off");
    };
    const classify = () => {
      throw new Error("classified");
    };
    expect(await retry(work, { signal: stopping.signal, backoff: fast(), classify })).toBeUndefined();
  });
});
