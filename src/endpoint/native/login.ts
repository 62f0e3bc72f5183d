/**
 * The login of a client of the native protocol: its hello is read and answered here, and the engine learns nothing of
 * it. The same code runs in the gateway, for a service that is idle, and in the engine host.
 */
import type { Socket } from "node:net";
import { clickHouseException } from "../../clickhouse/exception.ts";
import { plainAddress } from "../auth/access-list.ts";
import { markLoggedIn } from "../auth/logged-in.ts";
import { type DatabasePrincipal, type Logins, principalFor } from "../auth/logins.ts";
import { clientAddressOf } from "../connections/client-address.ts";
import { MalformedPacket, type Reader } from "./codec.ts";
import { exceptionPacket, shownException } from "./exception-packet.ts";
import { clientPackets, leastRevision, ourRevision, readAddendum, readClientHello, serverHello } from "./hello.ts";
import type { PacketInput } from "./input.ts";
import type { NativeSession } from "./session.ts";

/** A hello is small, and is there at once. */
const limits = { packet: 20_480, string: 4_096 };
const loginTimeoutMs = 10_000;

const httpAnswer =
  "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\n\r\nThis port serves the native protocol of ClickHouse. The service has another port for HTTP.\n";

export type LoginOptions = {
  readonly logins: Logins;
  /** What the answer says of the engine, which may not run. */
  readonly displayName: string;
  /** Called with the first byte of the client. */
  readonly onBegin?: () => void;
};

/**
 * Resolves with the session of a client that has logged in, and that has its answer. Resolves with undefined when the
 * client was refused or has gone; the socket is ended then. Never rejects.
 */
export async function logIn(
  socket: Socket,
  input: PacketInput,
  options: LoginOptions,
): Promise<NativeSession | undefined> {
  using _ = setTimeout(() => socket.destroy(), loginTimeoutMs);
  try {
    const session = await shakeHands(socket, input, options);
    markLoggedIn(socket);
    return session;
  } catch (error) {
    const shown = shownException(error);
    if (error instanceof SpeaksHttp) socket.end(httpAnswer);
    else if (shown === undefined) socket.destroy();
    else socket.end(exceptionPacket(shown));
    return undefined;
  }
}

/** The user of a session at this address. Throws the exception for the client when its login would be refused now. */
export function stillLoggedIn(
  logins: Logins,
  { user: name, passwordSha256Hex }: NativeSession,
  address: string,
): DatabasePrincipal {
  logins.requireAddress(address);
  const user = logins.stillKnown(name, passwordSha256Hex);
  if (user !== undefined) return principalFor(user, address);
  throw clickHouseException("AUTHENTICATION_FAILED", `${name}: the user or its password has changed. Log in again.`);
}

class SpeaksHttp extends Error {}

async function shakeHands(
  socket: Socket,
  input: PacketInput,
  { logins, displayName, onBegin }: LoginOptions,
): Promise<NativeSession> {
  const address = plainAddress(clientAddressOf(socket));
  logins.requireAddress(address);
  await input.begin();
  onBegin?.();
  const { revision, user: name, password, database } = await input.read(readFirst, limits);
  if (revision < leastRevision) {
    const text = `Clients of protocol revision ${revision} are not supported: use a client of 2017 or later (${leastRevision}).`;
    throw clickHouseException("NOT_IMPLEMENTED", text);
  }
  // Names that begin with a space are marks of other ways to log in: secrets of servers, keys, tokens.
  if (name.startsWith(" ")) throw clickHouseException("AUTHENTICATION_FAILED", "Log in with a user and a password.");
  const user = await logins.logIn({ user: name || "default", password }, address);
  if (!("name" in user)) throw user.exception;
  socket.write(serverHello(revision, displayName));
  const used = Math.min(revision, ourRevision);
  await input.read((reader) => readAddendum(reader, used), limits);
  logins.loggedIn(user.name, address);
  const { passwordSha256Hex } = user;
  return { user: user.name, passwordSha256Hex, revision: used, database, settings: [], parameters: [] };
}

function readFirst(reader: Reader) {
  const type = reader.byte();
  // GET, POST, PUT, and HEAD or OPTIONS.
  if ("GPHO".includes(String.fromCharCode(type))) throw new SpeaksHttp();
  if (type !== clientPackets.hello) throw new MalformedPacket("The connection does not begin with a Hello packet.");
  return readClientHello(reader);
}
