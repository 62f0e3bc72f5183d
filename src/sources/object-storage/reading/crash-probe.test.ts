import { expect, test } from "vitest";
import { ClickHouseError } from "../../../clickhouse/client.ts";
import { CrashProbe } from "./crash-probe.ts";

const files = ["a", "b", "c"].map((key) => ({ key, etag: "e", size: 1 }));
const pack = { files, format: "ORC" as const, oneBlock: true, lenient: false, threads: 1 };
const never = new AbortController().signal;
const away = "socket hang up";

/** An engine that reads what `read` lets it. */
function probeOf(read: (key: string) => void, crashes: () => number) {
  const reading = {
    read: async ([file]: readonly { key: string }[]) => ({ sql: file?.key ?? "", params: {}, settings: {} }),
  };
  const query = async (sql: string) => {
    read(sql.split(" ")[0] ?? "");
    return [];
  };
  return new CrashProbe(reading as never, { query, crashes: async () => crashes() });
}

/** As the runner does: again and again, until there is an answer. */
async function culpritOf(probe: CrashProbe): Promise<string | undefined> {
  for (;;) {
    try {
      return (await probe.culprit("batch", pack, never))?.key;
    } catch (error) {
      if ((error as Error).message !== away) throw error;
    }
  }
}

/** An engine that ends while it reads one of these, as often as it says. */
function engineOf(deadly: Readonly<Record<string, number>>) {
  const left = new Map(Object.entries(deadly));
  const read: string[] = [];
  let crashes = 0;
  const probe = probeOf(
    (key) => {
      read.push(key);
      if (key === "c") throw new ClickHouseError(117, 400, "damaged");
      const times = left.get(key) ?? 0;
      if (times === 0) return;
      left.set(key, times - 1);
      crashes += 1;
      throw new Error(away);
    },
    () => crashes,
  );
  return { probe, read };
}

test("the file that ends the engine twice is found, and the ones before it are read once", async () => {
  const { probe, read } = engineOf({ b: 5 });
  expect(await culpritOf(probe)).toBe("b");
  expect(read).toEqual(["a", "b", "b"]);
});

test("a file during which the engine ended once is not to blame, and an error of the engine is an answer", async () => {
  const { probe, read } = engineOf({ a: 1, b: 1 });
  expect(await culpritOf(probe)).toBeUndefined();
  expect(read).toEqual(["a", "a", "b", "b", "c"]);
});

test("an engine that is away without having crashed blames nobody", async () => {
  let isAway = true;
  const probe = probeOf(
    () => {
      if (isAway) throw new Error(away);
    },
    () => 7,
  );
  for (let round = 0; round < 5; round += 1) await expect(probe.culprit("b", pack, never)).rejects.toThrow(away);
  isAway = false;
  expect(await probe.culprit("b", pack, never)).toBeUndefined();
});

test("each file has a minute, after which the host ends an engine that cannot end the statement", async () => {
  const limits: unknown[] = [];
  const reading = { read: async () => ({ sql: "SELECT 1", params: {}, settings: { max_threads: 1 } }) };
  const query = async (_: string, options?: { settings?: Readonly<Record<string, unknown>> }) => {
    limits.push(options?.settings);
    return [];
  };
  await new CrashProbe(reading as never, { query: query as never, crashes: async () => 0 }).culprit("b", pack, never);
  expect(limits).toEqual(files.map(() => ({ max_threads: 1, max_execution_time: 60 })));
});
