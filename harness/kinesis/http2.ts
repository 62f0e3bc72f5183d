/**
 * Just enough of Kinesis over HTTP/2 and TLS for enhanced fan-out: consumers that become active, and subscriptions
 * whose events a test sets. The stand-ins support only HTTP/1.1.
 */
import { once } from "node:events";
import { createSecureServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { crc32 } from "node:zlib";
import { loopbackCertificate } from "../network/loopback-certificate.ts";

export type Subscription = {
  readonly start: { readonly Type: string; readonly SequenceNumber?: string };
  /** Sends an event; `exception` sends an error instead. */
  send(event: object, exception?: string): void;
  /** Ends the subscription from the server, as after five minutes. */
  end(): void;
  readonly closed: Promise<void>;
};

export type Http2Kinesis = AsyncDisposable & {
  readonly endpoint: string;
  readonly calls: string[];
  /** The course of the next subscriptions, in order: an error's name, or a function that sends. */
  readonly plan: (string | ((subscription: Subscription) => void))[];
};

export async function startHttp2Kinesis(): Promise<Http2Kinesis> {
  const calls: string[] = [];
  const plan: Http2Kinesis["plan"] = [];
  let asked = -1;
  const server = createSecureServer(loopbackCertificate);
  server.on("stream", async (stream, headers) => {
    const name = String(headers["x-amz-target"]).split(".")[1] ?? "";
    const input = JSON.parse((await text(stream)) || "{}") as { StartingPosition?: Subscription["start"] };
    calls.push(name);
    const answer = (body: object, status = 200) => {
      stream.respond({ ":status": status, "content-type": "application/x-amz-json-1.1" });
      stream.end(JSON.stringify(body));
    };
    if (name === "DescribeStreamSummary") return answer({ StreamDescriptionSummary: { StreamARN: "arn:s" } });
    if (name === "RegisterStreamConsumer") {
      asked = 0;
      return answer({ Consumer: { ConsumerARN: "arn:c", ConsumerName: "c", ConsumerStatus: "CREATING" } });
    }
    if (name === "DescribeStreamConsumer") {
      if (asked < 0) return answer({ __type: "ResourceNotFoundException", message: "no such consumer" }, 400);
      asked += 1;
      const ConsumerStatus = asked > 1 ? "ACTIVE" : "CREATING";
      return answer({ ConsumerDescription: { ConsumerARN: "arn:c", ConsumerStatus } });
    }
    const next = plan.shift();
    if (typeof next === "string") return answer({ __type: next, message: "planned" }, 400);
    next?.(subscribed(stream, input.StartingPosition as Subscription["start"]));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const sessions = new Set<{ destroy(): void }>();
  server.on("session", (session) => sessions.add(session));
  return {
    endpoint: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    plan,
    [Symbol.asyncDispose]: async () => {
      for (const session of sessions) session.destroy();
      server.close();
    },
  };
}

function subscribed(stream: ServerHttp2Stream, start: Subscription["start"]): Subscription {
  stream.respond({ ":status": 200, "content-type": "application/vnd.amazon.eventstream" });
  stream.write(frame({ ":message-type": "event", ":event-type": "initial-response" }, "{}"));
  stream.on("error", () => {});
  return {
    start,
    send: (event, exception) => {
      const kind: Record<string, string> =
        exception === undefined
          ? { ":message-type": "event", ":event-type": "SubscribeToShardEvent" }
          : { ":message-type": "exception", ":exception-type": exception };
      stream.write(frame({ ...kind, ":content-type": "application/json" }, JSON.stringify(event)));
    },
    end: () => stream.end(),
    closed: new Promise((resolve) => stream.once("close", () => resolve())),
  };
}

/** One message of the AWS event stream encoding: lengths, checksum, text headers, payload, checksum. */
export function frame(headers: Readonly<Record<string, string>>, payload: string): Buffer {
  const parts = Object.entries(headers).map(([name, value]) => {
    const [key, content] = [Buffer.from(name), Buffer.from(value)];
    const length = Buffer.alloc(2);
    length.writeUInt16BE(content.length);
    return Buffer.concat([Buffer.from([key.length]), key, Buffer.from([7]), length, content]);
  });
  const head = Buffer.concat(parts);
  const body = Buffer.from(payload);
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(head.length + body.length + 16, 0);
  prelude.writeUInt32BE(head.length, 4);
  const sum = (bytes: Buffer) => {
    const text = Buffer.alloc(4);
    text.writeUInt32BE(crc32(bytes));
    return text;
  };
  const checked = Buffer.concat([prelude, sum(prelude), head, body]);
  return Buffer.concat([checked, sum(checked)]);
}
