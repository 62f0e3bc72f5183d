/** A broker in this process that offers the versions and sends the responses that a test sets. */
import { createServer, type Server, type Socket } from "node:net";
import type { Api } from "../../src/sources/message-broker/protocol/call.ts";
import { apis, type OfferedVersions } from "../../src/sources/message-broker/protocol/versions.ts";
import { KafkaWireWriter } from "../../src/sources/message-broker/protocol/wire.ts";

export type BrokerRequest = { readonly key: number; readonly version: number; readonly id: number };

/** Every version that the client knows. */
export const allVersions: OfferedVersions = new Map(
  Object.values<Api>(apis).map(({ key, min, max }) => [key, { min, max }] as const),
);

/** Calls `onRequest` for each request that is not about versions. */
export function scriptedBroker(
  onRequest: (request: BrokerRequest, socket: Socket) => void,
  offered: OfferedVersions = allVersions,
): Server {
  return createServer((socket) => {
    socket.on("error", () => {});
    let received = Buffer.alloc(0);
    socket.on("data", (bytes) => {
      received = Buffer.concat([received, bytes]);
      while (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) {
        const [key, version, id] = [received.readInt16BE(4), received.readInt16BE(6), received.readInt32BE(8)];
        received = received.subarray(4 + received.readInt32BE(0));
        if (key === apis.apiVersions.key) socket.write(answerOf(id, versionsOf(version, offered)));
        else onRequest({ key, version, id }, socket);
      }
    });
  });
}

export function answerOf(id: number, body: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeInt32BE(4 + body.length, 0);
  head.writeInt32BE(id, 4);
  return Buffer.concat([head, body]);
}

/** As KIP-511 requires: an unsupported version is answered in the form of version 0. */
function versionsOf(version: number, offered: OfferedVersions): Buffer {
  const { max } = offered.get(apis.apiVersions.key) ?? { max: 0 };
  const isKnown = version <= max;
  const to = new KafkaWireWriter(isKnown && version >= 3);
  to.int16(isKnown ? 0 : 35);
  const own = [...offered].filter(([key]) => isKnown || key === apis.apiVersions.key);
  to.array(own, ([key, range]) => to.int16(key).int16(range.min).int16(range.max).noTags());
  if (isKnown && version >= 1) to.int32(0); // throttleTimeMs
  return to.noTags().content();
}
