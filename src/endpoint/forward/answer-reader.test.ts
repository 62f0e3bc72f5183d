import { describe, expect, test } from "vitest";
import { type AnswerHandler, AnswerReader, MalformedAnswer } from "./answer-reader.ts";

type Seen = { status?: number; headers?: unknown; body: string; ended?: { reusable: boolean }; complete: boolean };

/** Reads the response in chunks of `step` bytes, whose memory is overwritten after each. */
function read(text: string, step: number, { method = "GET", closes = false } = {}): Seen {
  const seen: Seen = { body: "", complete: false };
  const handler: AnswerHandler = {
    onHead: ({ status, headers }) => Object.assign(seen, { status, headers }),
    onData: (slice) => {
      seen.body += slice.toString("latin1");
    },
    onEnd: (reusable) => {
      seen.ended = { reusable };
    },
  };
  const reader = new AnswerReader(method, handler);
  for (let at = 0; at < text.length; at += step) {
    const bytes = Buffer.from(text.slice(at, at + step), "latin1");
    reader.read(bytes);
    bytes.fill("!");
  }
  seen.complete = closes ? reader.close() : seen.ended !== undefined;
  return seen;
}

const head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6; a=b\r\n world\r\n0\r\nX-T: 1\r\n\r\n`;

describe.each([1, 2, 3, 7, 100_000])("an answer that arrives in pieces of %i bytes", (step) => {
  test("with chunks is its data, without sizes, extensions and trailers", () => {
    expect(read(chunked, step)).toMatchObject({ status: 200, body: "hello world", ended: { reusable: true } });
  });

  test("with a length ends there", () => {
    const seen = read(`${head}Content-Length: 5\r\nConnection: close\r\n\r\nhello`, step);
    expect(seen).toMatchObject({ body: "hello", ended: { reusable: false } });
    expect(seen.headers).toContainEqual(["Content-Type", "text/plain"]);
  });

  test("with neither ends with the connection", () => {
    const seen = read(`${head}\r\nhello`, step, { closes: true });
    expect(seen).toMatchObject({ body: "hello", complete: true, ended: { reusable: false } });
  });

  test("has no body after HEAD, after 204, and with a length of zero", () => {
    expect(read(`${head}Content-Length: 5\r\n\r\n`, step, { method: "HEAD" }).complete).toBe(true);
    expect(read("HTTP/1.1 204 No Content\r\n\r\n", step).complete).toBe(true);
    expect(read(`${head}Content-Length: 0\r\n\r\n`, step)).toMatchObject({ body: "", complete: true });
  });

  test("after an informational one is the answer", () => {
    expect(read(`HTTP/1.1 100 Continue\r\n\r\n${chunked}`, step)).toMatchObject({ status: 200, body: "hello world" });
  });

  test.each([chunked.length - 1, chunked.length - 12, 80])(
    "that is cut off after %i bytes is not complete",
    (bytes) => {
      expect(read(chunked.slice(0, bytes), step, { closes: true }).complete).toBe(false);
    },
  );

  test.each([
    "SSH-2.0-server\r\n\r\n",
    `${head}Content-Length: -1\r\n\r\n`,
    `${head}Content-Length: 2\r\n\r\nhello`,
    `${head}Transfer-Encoding: chunked\r\n\r\nhello\r\n`,
    `${head}Transfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n`,
    `${head}nonsense\r\n\r\n`,
  ])("that is none is refused: %j", (text) => {
    expect(() => read(text, step)).toThrow(MalformedAnswer);
  });
});
