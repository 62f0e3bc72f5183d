/**
 * Event streams of AWS services and of what claims to be one. The client allocates what a message announces before any
 * of it has arrived, so lengths are checked on the way to it.
 */
import { Readable } from "node:stream";
import type { NodeHttp2Handler, NodeHttpHandler } from "@smithy/node-http-handler";

/** Two megabytes of records in base64, with ample room. */
const maxMessageBytes = 32 * 2 ** 20;
/** Lengths and checksums of an empty message. */
const minMessageBytes = 16;
const lengthBytes = 4;

/** The same handler, whose event streams end with an error at a message of another length. */
export function boundEvents(handler: NodeHttpHandler | NodeHttp2Handler): NodeHttpHandler | NodeHttp2Handler {
  const handle: NodeHttpHandler["handle"] = handler.handle.bind(handler);
  const boundHandle: typeof handle = async (request, options) => {
    const answer = await handle(request, options);
    const { body, headers } = answer.response;
    if (/eventstream/.test(headers["content-type"] ?? "")) answer.response.body = Readable.from(bounded(body));
    return answer;
  };
  handler.handle = boundHandle;
  return handler;
}

async function* bounded(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const length = Buffer.alloc(lengthBytes);
  let known = 0;
  let left = 0;
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length; ) {
      if (left === 0) {
        length[known] = chunk[at] as number;
        known += 1;
        at += 1;
        if (known < lengthBytes) continue;
        known = 0;
        const announced = length.readUInt32BE();
        if (announced < minMessageBytes || announced > maxMessageBytes) {
          throw new Error(`a message of the event stream announces ${announced} bytes`);
        }
        left = announced - lengthBytes;
      } else {
        const passed = Math.min(left, chunk.length - at);
        left -= passed;
        at += passed;
      }
    }
    yield chunk;
  }
}
