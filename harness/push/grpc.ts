/** One call of OTLP over gRPC, as an SDK makes it. */
import { connect } from "node:http2";
import type { Signal } from "./telemetry.ts";

const services = { traces: "trace.v1.Trace", metrics: "metrics.v1.Metrics", logs: "logs.v1.Logs" };
const callMs = 10_000;

/**
 * The status of gRPC with its sentence. `message` is a request in Protobuf, compressed with `encoding` if that is
 * given, and `length` is what the frame says of it. Rejects when the connection fails.
 */
export async function exportGrpc(
  port: number,
  key: string,
  signal: Signal,
  message: Uint8Array,
  { encoding, length = message.length }: { readonly encoding?: string; readonly length?: number } = {},
): Promise<{ readonly status: number; readonly sentence: string }> {
  const session = connect(`http://127.0.0.1:${port}`);
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; sentence: string }>();
  session.on("error", reject);
  const call = session.request({
    ":method": "POST",
    ":path": `/opentelemetry.proto.collector.${services[signal]}Service/Export`,
    ...{ "content-type": "application/grpc", te: "trailers", authorization: key },
    ...(encoding === undefined ? {} : { "grpc-encoding": encoding }),
  });
  const seen = (fields: Readonly<Record<string, unknown>>) => {
    if (fields["grpc-status"] === undefined) return;
    resolve({
      status: Number(fields["grpc-status"]),
      sentence: decodeURIComponent(String(fields["grpc-message"] ?? "")),
    });
  };
  call.on("response", seen).on("trailers", seen).on("error", reject).resume();
  call.on("close", () => reject(new Error("the call ended without a status")));
  call.setTimeout(callMs, () => call.destroy(new Error("the call was not answered")));
  const head = Buffer.alloc(5);
  head[0] = encoding === undefined ? 0 : 1;
  head.writeUInt32BE(length, 1);
  call.end(Buffer.concat([head, message]));
  try {
    return await promise;
  } finally {
    session.destroy();
  }
}
