/** Other servers ask whether a replica has certain tables. The answer has none of them: their query will tell. */
import { MalformedPacket, type Reader, Writer } from "../../endpoint/native/codec.ts";
import { serverPackets } from "../../endpoint/native/hello.ts";

/** The answer to the rest of such a packet, after its type. */
export function tablesStatus(reader: Reader): Buffer {
  const count = reader.varUint();
  if (count > 100) throw new MalformedPacket("A client can ask for the status of 100 tables.");
  const answer = new Writer().varUint(serverPackets.tablesStatus).varUint(count);
  for (let i = 0; i < count; i += 1) answer.string(reader.string()).string(reader.string()).byte(0);
  return answer.done();
}
