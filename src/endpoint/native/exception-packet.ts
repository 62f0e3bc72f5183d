/** An exception as a packet of the native protocol. */
import { ClickHouseException, clickHouseException } from "../../clickhouse/exception.ts";
import { MalformedPacket, Writer } from "./codec.ts";
import { serverPackets } from "./hello.ts";

export function exceptionPacket({ code, codeName, message }: ClickHouseException): Buffer {
  return new Writer()
    .varUint(serverPackets.exception)
    .int32(code)
    .string("DB::Exception")
    .string(`DB::Exception: ${message} (${codeName})`)
    .string("")
    .byte(0)
    .done();
}

/** The exception that a client gets for a failure; undefined: it is not the client's matter. */
export function shownException(error: unknown): ClickHouseException | undefined {
  if (error instanceof ClickHouseException) return error;
  if (error instanceof MalformedPacket) return clickHouseException("UNEXPECTED_PACKET_FROM_CLIENT", error.message);
  return undefined;
}
