/**
 * The part of the native protocol that the suite of clickhouse-go needs before and after its tests: the version of the
 * server, and CREATE and DROP DATABASE, which are passed on over HTTP. Every other request gets an exception with the
 * text `refusal`, which distinguishes tests of the native protocol from failures.
 */
import net from "node:net";

export const refusal = "the native protocol is not served";

/** The newest revision whose query packets have neither an interserver hash nor tracing. */
const revision = 54_440;
const serverHello = 0;
const exceptionPacket = 2;
const endOfStream = 5;

export type NativeHandshake = Disposable & { readonly port: number };

/** Listens on loopback; `run` executes a statement and returns its error text, or undefined. */
export async function startNativeHandshake(
  version: string,
  run: (sql: string) => Promise<string | undefined>,
): Promise<NativeHandshake> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    void serve(socket, version, run).catch(() => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as net.AddressInfo).port,
    [Symbol.dispose]: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** A client sends each packet in one piece and waits for its answer. */
async function serve(
  socket: net.Socket,
  version: string,
  run: (sql: string) => Promise<string | undefined>,
): Promise<void> {
  let greeted = false;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    if (!greeted) {
      const [major, minor, patch] = version.split(".").map(Number) as [number, number, number];
      const parts = [text("ClickHouse"), number(major), number(minor), number(revision), text("UTC"), text("service")];
      socket.write(Buffer.concat([number(serverHello), ...parts, number(patch)]));
      greeted = true;
    } else if (chunk[0] === 1) {
      const sql = statementOf(chunk);
      const problem = /^\s*(?:CREATE|DROP) DATABASE/i.test(sql) ? await run(sql) : refusal;
      socket.write(problem === undefined ? number(endOfStream) : exception(problem));
    } else {
      // A ping, for example.
      socket.write(exception(refusal));
    }
  }
}

/** The statement of a query packet. */
function statementOf(packet: Buffer): string {
  let at = 1;
  const readNumber = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = packet[at++] as number;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  const readText = () => {
    const length = readNumber();
    at += length;
    return packet.toString("utf8", at - length, at);
  };
  readText(); // id
  at += 1; // kind
  for (let i = 0; i < 3; i += 1) readText(); // first user, id and address
  at += 1; // interface
  for (let i = 0; i < 3; i += 1) readText(); // OS user, host, client
  for (let i = 0; i < 3; i += 1) readNumber(); // version of the client
  readText(); // quota key
  readNumber(); // patch version
  while (readText() !== "") {
    readNumber(); // flags of the setting
    readText();
  }
  at += 2; // stage, compression
  return readText();
}

function exception(message: string): Buffer {
  const code = Buffer.alloc(4);
  code.writeInt32LE(344);
  const parts = [code, text("DB::Exception"), text(message), text(""), Buffer.of(0)];
  return Buffer.concat([number(exceptionPacket), ...parts]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([number(bytes.length), bytes]);
}

function number(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return Buffer.of(...bytes, rest);
}
