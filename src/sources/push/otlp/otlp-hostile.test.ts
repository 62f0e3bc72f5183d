/** What hostile or broken senders send: it is refused as a whole, or becomes rows, and nothing else. */
import { describe, expect, test } from "vitest";
import { logsOf, metricsOf, spanOf, tracesOf } from "../../../../harness/push/telemetry.ts";
import { Dice } from "../../../../harness/random.ts";
import { AppError } from "../../../lib/errors.ts";
import { parsedJson } from "../../../lib/json.ts";
import type { Frame } from "../inbox/frames.ts";
import { deepest, inspect } from "./inspect.ts";
import { fromJson } from "./json.ts";
import { MessageWriter } from "./message-writer.ts";
import type { Signal } from "./messages.ts";
import { Decoder, OtlpBatches } from "./otlp-batches.ts";
import { encodedVarint } from "./wire.ts";

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

const resource = message(1, message(1, message(2, message(1, Buffer.alloc(1_000_000, "x")))));
const records = (count: number) =>
  message(2, Buffer.concat(Array.from({ length: count }, () => message(2, Buffer.alloc(0)))));

test("a batch ends before its rows are many times the bytes of its requests", async () => {
  const body = message(1, Buffer.concat([resource, records(40)]));
  const frames = async function* () {
    for (let o = 0; o < 400; o += 40) yield { facts: { o, n: 40, g: "logs" }, body } as unknown as Frame;
  };
  const limits = { maxRows: 1_000_000, maxBytes: 20_000_000 };
  const reader = { frames, piecesOf: async function* () {} };
  const made = await new OtlpBatches({ reader, database: "d", limits }).collect(0, 400);
  expect(made.range).toEqual({ first: 0, last: 79 });
});

test.each(["before", "after"])("the attributes of a resource, %s its records, count for each row", (where) => {
  const bodyOf = (count: number) =>
    message(1, Buffer.concat(where === "before" ? [resource, records(count)] : [records(count), resource]));
  expect(inspect("logs", bodyOf(50), 100_000_000).records).toBe(50);
  expect(() => inspect("logs", bodyOf(150), 100_000_000)).toThrow(/would have more than 100000000 bytes: send fewer/);
  expect(() => inspect("logs", message(1, message(2, Buffer.alloc(4_000_000, "\x12\x00"))), 100_000_000)).toThrow(
    /send fewer records in one request/,
  );
});

test("JSON is read without a document in memory: millions of brackets end at the first that is wrong", () => {
  for (const piece of ["[", '{"a":']) {
    const began = process.cpuUsage();
    expect(() => fromJson("logs", Buffer.alloc(40_000_000, piece))).toThrow(/must be an object|too many levels/);
    expect(process.cpuUsage(began).user).toBeLessThan(2_000_000);
  }
});

const attribute = (value: string) =>
  Buffer.from(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"attributes":[{"value":${value}}]}]}]}]}`);

test.each(["9007199254740993", "9223372036854775807", "-9223372036854775808"])("%s keeps its digits", (digits) => {
  const asNumber = fromJson("logs", attribute(`{"intValue":${digits}}`));
  expect(asNumber).toEqual(fromJson("logs", attribute(`{"intValue":"${digits}"}`)));
  expect(asNumber.subarray(-encodedVarint(BigInt.asUintN(64, BigInt(digits))).length)).toEqual(
    encodedVarint(BigInt.asUintN(64, BigInt(digits))),
  );
});

test.each(["9223372036854775808", '"-9223372036854775809"'])("%s is refused as an integer", (digits) => {
  expect(() => fromJson("logs", attribute(`{"intValue":${digits}}`))).toThrow(
    /value.intValue must be an integer from -9223372036854775808 to 9223372036854775807/,
  );
});

test("what is not JSON is refused, and what is JSON is never said not to be", () => {
  const dice = new Dice(13);
  const seen = { json: 0, other: 0 };
  const text = Buffer.from(JSON.stringify({ ...requests.metrics, "é\n": [1e3, -0.5, true, null, { "": "\u00e9" }] }));
  for (let round = 0; round < 4_000; round += 1) {
    const body = Buffer.from(text);
    for (let n = 1 + dice.below(2); n > 0; n -= 1) {
      body[dice.below(body.length)] = Buffer.from('{}[]:,"\\ ue-+.01é\n\u0001')[dice.below(21)] as number;
    }
    const isJson = parsedJson(body.toString()) !== undefined;
    seen[isJson ? "json" : "other"] += 1;
    let code: string | undefined;
    try {
      fromJson("metrics", body);
    } catch (error) {
      code = (error as AppError).code;
    }
    if (isJson) expect(code, body.toString()).not.toBe("INVALID_JSON");
    else expect(code, body.toString()).toBeDefined();
  }
  expect(Math.min(seen.json, seen.other)).toBeGreaterThan(200);
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
  [
    tracesOf([{ endTimeUnixNano: "99999999999999999999" }]),
    /endTimeUnixNano must be an integer from 0 to 18446744073709551615/,
  ],
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
