import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { afterSpace, closesRightAway, objectEnd } from "./json-object.ts";

function objectBounds(bytes: Uint8Array, start: number, end: number) {
  const from = afterSpace(bytes, start, end);
  const to = objectEnd(bytes, from, end);
  return to < 0 ? undefined : { from, to };
}

const boundsOf = (text: string) => {
  const bytes = Buffer.from(text);
  return objectBounds(bytes, 0, bytes.length);
};

describe("bounds of a JSON object", () => {
  test.each([
    "",
    " ",
    "{",
    "}",
    '{"a":1',
    ',"b":2}',
    '{"a":1}{"b":2}',
    '{"a":1}\n{"b":2}',
    '{"a":1},{"b":2}',
    '[{"a":1}]',
    '{"a":"}',
    '{"a":"\\"}',
    '{"a":[}',
    '{"a":[1}]',
    '{"a":1}}',
    "null",
    '"text"',
    '\ufeff{"a":1}',
    '{"a":1} x',
  ])("no single object: %s", (text) => expect(boundsOf(text)).toBeUndefined());

  test("space around an object stays outside", () => {
    expect(boundsOf(' \r\n\t{"a": "{[\\\\\\""}\n ')).toEqual({ from: 4, to: 19 });
  });

  test("a piece of a larger buffer ends at its end", () => {
    const bytes = Buffer.from('{"a":1}{"b":"2"}');
    expect(objectBounds(bytes, 0, 7)).toEqual({ from: 0, to: 7 });
    expect(objectBounds(bytes, 7, 15)).toBeUndefined();
    expect(objectBounds(bytes, 7, 16)).toEqual({ from: 7, to: 16 });
  });

  test.each([1, 2, 29, 30, 31, 32, 999, 1000])("objects and arrays %i deep", (depth) => {
    const half = Math.floor(depth / 2);
    const text = `${'{"a":['.repeat(half)}${depth % 2 === 0 ? "" : "{}"}${"]}".repeat(half)}`;
    expect(boundsOf(text)).toEqual({ from: 0, to: text.length });
    expect(boundsOf(`${text}}`)).toBeUndefined();
    if (depth > 1) expect(boundsOf(text.replace("]}", "}]"))).toBeUndefined();
  });

  test("deeper than the engine reads", () => {
    expect(boundsOf(`${'{"a":['.repeat(501)}${"]}".repeat(501)}`)).toBeUndefined();
  });

  test("every object that JSON.stringify writes is one, and no two of them are", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom("", "\n", ",", " "), (value, between) => {
        const text = JSON.stringify(value);
        expect(boundsOf(text)).toEqual({ from: 0, to: Buffer.byteLength(text) });
        expect(boundsOf(JSON.stringify(value, null, 2))?.from).toBe(0);
        expect(boundsOf(`${text}${between}${text}`)).toBeUndefined();
        expect(closesRightAway(Buffer.from(text), 0)).toBe(Object.keys(value).length === 0);
      }),
    );
  });

  test("long strings end at the first quote that is not escaped", () => {
    const piece = fc.constantFrom("a", "b\\", '"', "\\\\", "x".repeat(15));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (parts) => {
        const text = JSON.stringify({ text: parts.join(""), more: 1 });
        expect(boundsOf(text)).toEqual({ from: 0, to: text.length });
        expect(boundsOf(text.slice(0, -1))).toBeUndefined();
        // Without its closing quote the string includes the rest.
        expect(boundsOf(text.replace('","more', ',"more'))).toBeUndefined();
      }),
      { numRuns: 2000 },
    );
  });

  test("whatever passes does not swallow the row behind it", () => {
    const pieces = fc.constantFrom("{", "}", "[", "]", '"', "\\", ",", ":", "1", "a", "\n", '"a"', '"a":1', "null");
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join("");
        if (boundsOf(text) === undefined) return;
        const behind = `${text}\n{"next":1}`;
        const bytes = Buffer.from(behind);
        // Parsed from its start, the object closes before the next row begins.
        expect(objectBounds(bytes, 0, bytes.length - 11)?.to).toBeLessThanOrEqual(bytes.length - 11);
        expect(boundsOf(behind)).toBeUndefined();
      }),
      { numRuns: 2000 },
    );
  });
});
