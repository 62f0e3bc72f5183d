/** Answers of AWS services and of what claims to be one: the client gathers them in memory before it reads them. */
import type { Readable } from "node:stream";

type Collector = (body: Readable) => Promise<Uint8Array>;

/** Ten megabytes of records in base64, with ample room. */
export const boundedAnswer: Collector = (body) => collected(body, 32 * 2 ** 20);

/** A thousand keys, each byte of them escaped. Reading it as XML takes ten times the time of reading JSON. */
export const boundedListing: Collector = (body) => collected(body, 8 * 2 ** 20);

/** `streamCollector` of a client. Throws for a body that is larger; contents of objects do not pass through it. */
async function collected(body: Readable, maxAnswerBytes: number): Promise<Uint8Array> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxAnswerBytes) throw new Error(`the answer is larger than ${maxAnswerBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}
