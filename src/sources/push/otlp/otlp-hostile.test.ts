/** What hostile or broken senders send: it is refused as a whole, or becomes rows, and nothing else. */
import { describe, expect, test } from "vitest";
import { logsOf, metricsOf, spanOf, tracesOf } from "../../../../harness/push/telemetry.ts";
import { Dice } from "../../../../harness/random.ts";
import { AppError } from "../../../lib/errors.ts";
import { deepest, inspect } from "./inspect.ts";
import { fromJson } from "./json.ts";
import type { Signal } from "./messages.ts";
import { Decoder } from "./otlp-batches.ts";
import { encodedVarint, MessageWriter } from "./wire.ts";

const point = { timeUnixNano: "1790000000000000000", attributes: [{ key: "a", value: { boolValue: true } }] };
const counted = { ...point, count: 3, sum: 1 };
const buckets = { offset: -3, bucketCounts: [1, "18446744073709551615"] };
const requests: Readonly<Record<Signal, object>> = {
  traces: tracesOf([spanOf(1), spanOf(2)]),
  logs: logsOf([{ timeUnixNano: "1", body: { arrayValue: { values: [{ intValue: 1 }] } }, attributes: [] }]),
  metrics: metricsOf([
    { name: "g", gauge: { dataPoints: [{ ...point, asInt: 1 }] } },
    { name: "s", sum: { dataPoints: [{ ...point, asDouble: 1 }], isMonotonic: true } },
    { name: "h", histogram: { dataPoints: [{ ...counted, bucketCounts: [1, 2], explicitBounds: [1] }] } },
    {
      name: "x",
      exponentialHistogram: { dataPoints: [{ ...counted, scale: -1, positive: buckets, negative: buckets }] },
    },
    { name: "y", summary: { dataPoints: [{ ...counted, quantileValues: [{ quantile: 0.5, value: 1 }] }] } },
  ]),
};
const encoded = (signal: Signal) => fromJson(signal, Buffer.from(JSON.stringify(requests[signal])));
const signalNames = ["traces", "logs", "metrics"] as const;

/** Refused with a sentence, or as many rows as records. */
function judged(signal: Signal, body: Buffer): "refused" | "kept" {
  try {
    const found = inspect(signal, body);
    const decoder = new Decoder();
    decoder.add(signal, found.body);
    const inserts = decoder.inserts("d");
    expect(inserts.reduce((sum, { rows = 0 }) => sum + rows, 0)).toBe(found.records);
    for (const { body: bytes } of inserts) expect(bytes).toBeDefined();
    return "kept";
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect(error.code).toBe("BAD_REQUEST");
    return "refused";
  }
}

describe.each(signalNames)("%s", (signal) => {
  test("a request that is cut off anywhere is refused, unless it ends with a field", () => {
    const body = encoded(signal);
    expect(judged(signal, body)).toBe("kept");
    for (let end = 1; end < body.length; end += 1) expect(judged(signal, body.subarray(0, end))).toBe("refused");
  });

  test("changed bytes are refused, or become as many rows as are counted", () => {
    const dice = new Dice(7);
    const seen = { refused: 0, kept: 0 };
    for (let round = 0; round < 400; round += 1) {
      const body = Buffer.from(encoded(signal));
      for (let n = 1 + dice.below(4); n > 0; n -= 1) body[dice.below(body.length)] = dice.below(256);
      seen[judged(signal, body)] += 1;
    }
    expect(Math.min(seen.refused, seen.kept)).toBeGreaterThan(20);
  });

  test("random bytes never end otherwise", () => {
    const dice = new Dice(11);
    for (let round = 0; round < 400; round += 1) {
      judged(signal, Buffer.from(Array.from({ length: dice.below(40) }, () => dice.below(256))));
    }
  });
});

/** A log record whose body is so many lists within one another. */
function nested(levels: number): Buffer {
  let value: Buffer = Buffer.alloc(0);
  for (let level = 0; level < levels; level += 1) value = message(5, message(1, value));
  return message(1, message(2, message(2, message(5, value))));
}

function message(field: number, content: Buffer): Buffer {
  const to = new MessageWriter();
  to.bytes(field, content);
  return to.content();
}

test("values within values are read up to a depth, and no deeper", () => {
  expect(judged("logs", nested(deepest / 2 - 2))).toBe("kept");
  expect(() => inspect("logs", nested(deepest))).toThrow(/nested in more than 100 levels/);
  expect(() => inspect("logs", nested(2_000))).toThrow(/nested in more than 100 levels/);
  const document = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":${'{"arrayValue":{"values":['.repeat(5_000)}${"]}}".repeat(5_000)}}]}]}]}`;
  expect(() => fromJson("logs", Buffer.from(document))).toThrow(/in more than 100 levels/);
});

test.each([
  ["a number that does not end", Buffer.from([0x0a, ...Array(12).fill(0xff)]), /a number does not end/],
  ["a length beyond the message", Buffer.from([0x0a, 0x7f]), /ends after its message/],
  ["a length of 2^40", Buffer.from([0x0a, ...encodedVarint(2n ** 40n)]), /larger than a message can be/],
  ["a field without a number", Buffer.from([0x02, 0x00]), /a field has no number/],
  ["a group", Buffer.from([0x0b]), /the wire type 3/],
  ["a message as a number", Buffer.from([0x08, 0x01]), /resourceSpans has the wire type 0, and not 2/],
])("%s is named", (_, body, sentence) => {
  expect(() => inspect("traces", body)).toThrow(sentence);
});

test.each([
  [{ resourceSpans: {} }, /resourceSpans must be an array/],
  [tracesOf([{ startTimeUnixNano: "1.5" }]), /spans\[0\].startTimeUnixNano must be an integer/],
  [tracesOf([{ traceId: "xyz" }]), /traceId must be hexadecimal digits/],
  [tracesOf([{ endTimeUnixNano: "99999999999999999999" }]), /endTimeUnixNano has more than 64 bits/],
  [tracesOf([{ attributes: [{ value: { bytesValue: "%" } }] }]), /bytesValue must be base64/],
  [tracesOf([{ attributes: [{ value: { boolValue: 1 } }] }]), /boolValue must be true or false/],
  [tracesOf([{ attributes: [{ value: { doubleValue: "many" } }] }]), /doubleValue must be a number/],
  [tracesOf([{ name: 1 }]), /name must be a string/],
])("JSON is refused with the member that is wrong: %j", (body, sentence) => {
  expect(() => fromJson("traces", Buffer.from(JSON.stringify(body)))).toThrow(sentence);
});

test("members that are not known, and those without a value, are left out", () => {
  const body = tracesOf([{ ...spanOf(1), other: { deep: [1] }, trace_state: "x", status: null }]);
  expect(inspect("traces", fromJson("traces", Buffer.from(JSON.stringify(body)))).records).toBe(1);
});
