/** Answers of AWS services and of what claims to be one: the client gathers them in memory before it reads them. */
import type { Readable } from "node:stream";

/** Ten megabytes of records in base64, or a thousand keys of a listing, with ample room. */
const maxAnswerBytes = 32 * 2 ** 20;

/** `streamCollector` of a client. Throws for a body that is larger; contents of objects do not pass through it. */
export async function boundedAnswer(body: Readable): Promise<Uint8Array> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxAnswerBytes) throw new Error(`the answer is larger than ${maxAnswerBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}
