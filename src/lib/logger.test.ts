/** What others write into the log. */
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import pinoPretty from "pino-pretty";
import { expect, test } from "vitest";
import { createLogger } from "./logger.ts";

const hostile = "a\u001b]0;x\u0007\u009b2J\u202eb";

async function logged(output: PassThrough, write: NodeJS.WritableStream & { write(text: string): unknown }) {
  const logger = createLogger("info", write);
  logger.info({ reason: hostile, err: new Error(hostile) }, hostile);
  await new Promise((resolve) => setImmediate(resolve));
  write.end();
  return await text(output);
}

test("no line carries control characters to the terminal, whatever a source answers", async () => {
  const plain = new PassThrough();
  const json = await logged(plain, plain);
  expect(json).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  expect(JSON.parse(json).reason).toBe("a\u001b]0;x\u0007\\u009b2J\\u202eb");
  const shown = new PassThrough();
  const readable = await logged(shown, pinoPretty({ destination: shown, colorize: false }));
  expect(readable).toContain("\\u009b2J");
  expect(readable).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
});
