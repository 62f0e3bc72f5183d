/** Large bodies are read in a thread, with the same result as here, and without holding the event loop. */
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { cpuNow } from "../../../../harness/cpu-time.ts";
import { logsOf, metricsOf, spanOf, tracesOf } from "../../../../harness/push/telemetry.ts";
import { MessageWriter } from "./message-writer.ts";
import type { Signal } from "./messages.ts";
import { type Encoding, isSmall, type ReadTelemetry, readTelemetry, TelemetryReader } from "./reader.ts";

const mostBytes = 64 * 2 ** 20;
const never = new AbortController().signal;
const reader = new TelemetryReader(mostBytes);
const taskOf = (signal: Signal, encoding: Encoding, body: Buffer | string) => {
  return { signal, encoding, content: Buffer.from(body), mostBytes };
};
/** A document of so many bytes or a little less, with as many of the element as have room in it. */
function documentOf(bytes: number, head: string, element: string, tail: string): Buffer {
  const count = Math.floor((bytes - head.length - tail.length) / (element.length + 1)) - 1;
  return Buffer.from(`${head}${`${element},`.repeat(count)}${element}${tail}`);
}
function bytesOf(field: number, content: Buffer): Buffer {
  const to = new MessageWriter();
  to.bytes(field, content);
  return to.content();
}
const histogram = '{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"exponentialHistogram":{"dataPoints":[';
const logs = '{"resourceLogs":[{"scopeLogs":[{"logRecords":[';
const slow = {
  "numbers of buckets": (bytes: number) =>
    taskOf("metrics", "json", documentOf(bytes, `${histogram}{"positive":{"bucketCounts":[`, "1", "]}}]}}]}]}]}")),
  "values in a list": (bytes: number) =>
    taskOf("logs", "json", documentOf(bytes, `${logs}{"body":{"arrayValue":{"values":[`, "{}", "]}}}]}]}]}")),
  "fields that repeat": (bytes: number) =>
    taskOf("logs", "json", documentOf(bytes, `${logs}{"flags":1,`, '"flags":1', "}]}]}]}")),
  "a member that is not known": (bytes: number) => taskOf("logs", "json", documentOf(bytes, '{"x":[', "1", "]}")),
  "values without a value": (bytes: number) => {
    const listOf = (content: Buffer) => bytesOf(1, bytesOf(2, bytesOf(2, bytesOf(5, bytesOf(5, content)))));
    return taskOf("logs", "protobuf", listOf(Buffer.alloc(bytes, "\x0a\x00")));
  },
};

describe.each(Object.entries(slow))("%s", (_, make) => {
  test("leave the event loop its turns", async () => {
    const task = make(4 * 2 ** 20);
    expect(isSmall(task)).toBe(false);
    let longestMs = 0;
    let isRead = false;
    const read = reader.read(task, never).finally(() => {
      isRead = true;
    });
    for (let before = cpuNow(); !isRead; before = cpuNow()) {
      await pause(1);
      longestMs = Math.max(longestMs, cpuNow() - before);
    }
    expect((await read).digest).toHaveLength(43);
    expect(longestMs).toBeLessThan(50);
  });
});

/** What reading ends with: the result, or the error that the sender is told. */
async function endOf(read: () => ReadTelemetry | Promise<ReadTelemetry>) {
  try {
    return await read();
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return { code, message };
  }
}

const point = { timeUnixNano: "1790000000000000000", attributes: [{ key: "a", value: { boolValue: true } }] };
const wrong = { ...spanOf(3), traceId: "abcd" };
const corpus: readonly (readonly [string, Signal, string | Buffer])[] = [
  ["spans", "traces", JSON.stringify(tracesOf([spanOf(1), spanOf(2)]))],
  ["a span that is not kept", "traces", JSON.stringify(tracesOf([spanOf(1), wrong]))],
  ["no span that is kept", "traces", JSON.stringify(tracesOf([wrong]))],
  ["logs", "logs", JSON.stringify(logsOf([{ timeUnixNano: "1", body: { stringValue: "é\n\u2028" } }]))],
  ["metrics", "metrics", JSON.stringify(metricsOf([{ name: "g", gauge: { dataPoints: [{ ...point, asInt: -1 }] } }]))],
  ["nothing", "logs", "{}"],
  ["no JSON", "logs", '{"a":'],
  ["a wrong member", "logs", JSON.stringify({ resourceLogs: 1 })],
  ["an id of millions of digits", "traces", JSON.stringify(tracesOf([{ ...spanOf(1), traceId: "ab".repeat(7e6) }]))],
];

describe.each(corpus)("%s", (_, signal, json) => {
  test("is read in the thread as it is here", async () => {
    const here = await endOf(() => readTelemetry(taskOf(signal, "json", json)));
    expect(await endOf(() => reader.read(taskOf(signal, "json", json), never))).toEqual(here);
    expect(here).not.toHaveProperty("code", "INTERNAL");
    const protobuf = "body" in here ? here.body : Buffer.from("\x0a\x7f");
    const again = await endOf(() => readTelemetry(taskOf(signal, "protobuf", protobuf)));
    expect(await endOf(() => reader.read(taskOf(signal, "protobuf", protobuf), never))).toEqual(again);
  });
});

test("JSON whose Protobuf is larger than a body may be is refused", () => {
  const bucketCounts = Array.from({ length: 1_000 }, () => 1);
  const body = JSON.stringify(metricsOf([{ histogram: { dataPoints: [{ bucketCounts }] } }]));
  expect(readTelemetry({ ...taskOf("metrics", "json", body), mostBytes: 10_000 }).body.length).toBeLessThan(10_000);
  expect(() => readTelemetry({ ...taskOf("metrics", "json", body), mostBytes: body.length })).toThrow(
    /The body has more than \d+ bytes in Protobuf/,
  );
});

test("the largest string that a body can have is read", async () => {
  const string = Buffer.concat([Buffer.from("\u0100"), Buffer.alloc(mostBytes - 200, "\\n")]).toString();
  const task = taskOf("logs", "json", `${logs}{"body":{"stringValue":"${string}"}}]}]}]}`);
  expect(task.content.length).toBeGreaterThan(mostBytes - 200);
  expect((await reader.read(task, never)).body.length).toBeGreaterThan(mostBytes / 2 - 200);
});

test("who leaves frees the thread for others", async () => {
  const gone = new AbortController();
  const reading = reader.read(slow["numbers of buckets"](16 * 2 ** 20), gone.signal);
  const next = reader.read(taskOf("logs", "json", "{}"), never);
  gone.abort(new Error("gone"));
  await expect(reading).rejects.toThrow("gone");
  expect((await next).records).toBe(0);
});
