/** Servers that speak the protocol and lie: they may fail their own pipe, and take no memory and no thread. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { anyNetwork } from "../../../../harness/network/network.ts";
import type { SourceServer } from "../declaration/kind.ts";
import { connect } from "./connection.ts";
import { login } from "./login.ts";
import { MessageLimits } from "./message-limits.ts";

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

function message(kind: string, content: Buffer | string = "", claimed?: number): Buffer {
  const body = Buffer.from(content);
  const head = Buffer.alloc(5);
  head.write(kind, 0, "latin1");
  head.writeUInt32BE(claimed ?? 4 + body.length, 1);
  return Buffer.concat([head, body]);
}

const authentication = (code: number, content = "") => {
  const number = Buffer.alloc(4);
  number.writeInt32BE(code);
  return message("R", Buffer.concat([number, Buffer.from(content)]));
};
const loggedIn = Buffer.concat([authentication(0), message("Z", "I")]);

/** Sends these bytes until the client is gone. */
function sendForEver(socket: Socket, bytes: Buffer): void {
  const many = Buffer.concat(new Array(Math.ceil(2 ** 18 / bytes.length)).fill(bytes));
  const more = () => {
    while (!socket.destroyed && socket.write(many));
  };
  socket.on("drain", more);
  more();
}

/** Answers the messages of a client in turn, and the following ones with the last answer. */
async function serverOf(...answers: readonly ((socket: Socket, sent: Buffer) => void)[]): Promise<SourceServer> {
  const server = createServer((socket) => {
    let at = 0;
    socket.on("error", () => {});
    socket.on("data", (sent) => {
      answers[Math.min(at, answers.length - 1)]?.(socket, sent);
      at += 1;
    });
  }).listen(0, "127.0.0.1");
  open.push(server);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const credentials = { username: "u", password: "the password" };
  const config = { host: "127.0.0.1", port, database: "d", credentials, tableMappings: [], disableTls: true };
  return { network: anyNetwork, config };
}

test.each([
  ["notices without end", message("N", "SNOTICE\0Mhello\0\0")],
  ["parameters without end", message("S", "name\0value\0")],
  ["an error without end", message("E", Buffer.alloc(100_000, "x"), 2 ** 31)],
  ["a message of 4 GiB", message("S", "", 2 ** 32 - 1)],
  ["a message of no length", message("S", "", 3)],
])("%s before the login", async (_, bytes) => {
  const server = await serverOf((socket) => sendForEver(socket, bytes));
  await expect(login(server)).rejects.toMatchObject({
    code: "SOURCE_UNREACHABLE",
    message: expect.stringMatching(/the server sent (more than|a message of)/),
  });
});

test("SCRAM with 2^31 - 1 iterations derives no key", async () => {
  const server = await serverOf(
    (socket) => socket.write(authentication(10, "SCRAM-SHA-256\0\0")),
    (socket, sent) => {
      const nonce = /r=([^,]+)$/.exec(sent.toString("latin1"))?.[1];
      socket.write(authentication(11, `r=${nonce}x,s=c2FsdA==,i=2147483647`));
    },
  );
  await expect(login(server)).rejects.toMatchObject({
    code: "SOURCE_UNREACHABLE",
    message: expect.stringContaining("2147483647 iterations"),
  });
});

test("a result without end breaks the connection", async () => {
  const server = await serverOf(
    (socket) => socket.write(loggedIn),
    (socket) => sendForEver(socket, message("D", "\0\0")),
  );
  await expect(connect(server)).rejects.toMatchObject({
    code: "SOURCE_UNREACHABLE",
    message: expect.stringContaining("as one result"),
  });
});

test("what a session brings in the course of time is not one result", () => {
  const limits = new MessageLimits();
  const row = message("D", Buffer.alloc(2 ** 20));
  const piece = Buffer.concat([...new Array(40).fill(row), message("Z", "I")]);
  for (let query = 0; query < 4; query += 1) expect(limits.push(piece)).toBe(undefined);
  expect(limits.push(Buffer.concat(new Array(65).fill(row)))).toContain("as one result");
});

test("a row of a copy may have as many bytes as Postgres allows", () => {
  const limits = new MessageLimits();
  expect(limits.push(message("d", "", 2 ** 30))).toBe(undefined);
  expect(new MessageLimits().push(message("d", "", 2 ** 31))).toContain("a message of 2147483648 bytes");
});

test("messages are told apart wherever their chunks end", () => {
  const piece = fc.record({ kind: fc.constantFrom("D", "d", "Z", "N", "S"), size: fc.nat({ max: 50 }) });
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), fc.integer({ min: 1, max: 60 }), (pieces, size) => {
      const bytes = Buffer.concat(pieces.map((one) => message(one.kind, Buffer.alloc(one.size, 0xff))));
      const all = Buffer.concat([bytes, message("D", "", 2)]);
      const limits = new MessageLimits();
      let found: string | undefined;
      for (let at = 0; at < all.length; at += size) found ??= limits.push(all.subarray(at, at + size));
      expect(found).toBe("a message of 2 bytes");
    }),
  );
});
