/** What a read that may not wake the service gets while it does not run. */
import { expect, test } from "vitest";
import { AppError, type ErrorCode } from "../lib/errors.ts";
import { chartClients } from "./clients.ts";
import { LastAnswers, orAsleep } from "./last-answers.ts";

const failure = (code: ErrorCode) => new AppError(code, "no");
const signal = new AbortController().signal;

test("the last answer stands in for a service that sleeps, with its time; for no other failure and no other request", () => {
  const last = new LastAnswers<string>();
  last.set("k", "old", 5, 10);
  last.set("k", "new", 7, 10);
  expect(last.insteadOf(failure("SERVICE_ASLEEP"), "k")).toEqual({ value: "new", asOfMs: 7, stale: true });
  for (const code of ["BAD_REQUEST", "SERVICE_UNAVAILABLE", "TIMEOUT"] as const) {
    expect(() => last.insteadOf(failure(code), "k"), code).toThrow(expect.objectContaining({ code }));
  }
  expect(() => last.insteadOf(failure("SERVICE_ASLEEP"), "other")).toThrow(
    expect.objectContaining({ code: "SERVICE_ASLEEP" }),
  );
});

test("an engine that ends while it is asked is one that sleeps; one that still runs has failed", async () => {
  const failed = failure("SERVICE_UNAVAILABLE");
  const asleep = failure("SERVICE_ASLEEP");
  expect(await orAsleep(failed, "never", () => Promise.reject(asleep))).toBe(asleep);
  expect(await orAsleep(failed, "never", async () => "runs")).toBe(failed);
  expect(await orAsleep(failed, "auto", () => Promise.reject(asleep))).toBe(failed);
  const other = failure("BAD_REQUEST");
  expect(await orAsleep(other, "never", () => Promise.reject(asleep))).toBe(other);
});

test("a read that may not wake the service does not acquire its engine", async () => {
  const address = { host: "127.0.0.1", port: 1 };
  const held = { acquired: 0, released: 0 };
  const acquire = async () => {
    held.acquired += 1;
    const release = () => {
      held.released += 1;
    };
    return { address, release };
  };
  const running = chartClients({ acquire, observe: () => address });
  (await running("s", "never", signal)).release();
  expect(held).toEqual({ acquired: 0, released: 0 });
  (await running("s", "auto", signal)).release();
  expect(held).toEqual({ acquired: 1, released: 1 });
  const asleep = chartClients({ acquire, observe: () => undefined });
  await expect(asleep("s", "never", signal)).rejects.toMatchObject({ code: "SERVICE_ASLEEP", status: 409 });
  expect(held.acquired).toBe(1);
});
