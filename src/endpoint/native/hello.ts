/**
 * The handshake's packets, in both directions: the endpoint answers a client's hello, and says one to the engine.
 * What a packet contains depends on its revision, which is the smaller one of both sides.
 */
import { randomBytes } from "node:crypto";
import { packagedVersion } from "../../clickhouse/version.ts";
import { MalformedPacket, type Reader, Writer } from "./codec.ts";

/** Above it the engine also compresses its log lines and profile events, which the end of an INSERT is found in. */
export const ourRevision = 54_479;
/** That of clickhouse-go 1, which golang-migrate has. */
export const leastRevision = 54_213;

/** The revisions that add something, by what they add. */
export const since = {
  displayName: 54_372,
  patch: 54_401,
  /** What was written, in Progress packets. */
  written: 54_420,
  /** Before, each setting has a form of its own. */
  settingTexts: 54_429,
  seal: 54_441,
  traces: 54_442,
  forwardedFor: 54_447,
  depth: 54_448,
  startTime: 54_449,
  parallelReplicas: 54_453,
  columnMarks: 54_454,
  addendum: 54_458,
  parameters: 54_459,
  elapsed: 54_460,
  passwordRules: 54_461,
  nonce: 54_462,
  totalBytes: 54_463,
  chunks: 54_470,
  replicasVersion: 54_471,
  roles: 54_472,
  serverSettings: 54_474,
  lineNumbers: 54_475,
  token: 54_476,
  queryPlan: 54_477,
  clusterFunctions: 54_479,
} as const;

export const clientPackets = {
  hello: 0,
  query: 1,
  data: 2,
  cancel: 3,
  ping: 4,
  tablesStatus: 5,
  scalar: 7,
  ignoredParts: 8,
} as const;

export const serverPackets = {
  hello: 0,
  data: 1,
  exception: 2,
  progress: 3,
  pong: 4,
  endOfStream: 5,
  tablesStatus: 9,
  log: 10,
  tableColumns: 11,
  profileEvents: 14,
  timezone: 17,
} as const;

/** Versions of what only servers among themselves use; small ones, because nothing of it is used. */
const replicasVersion = 3;
const queryPlanVersion = 0;
const clusterFunctionVersion = 1;

export type ClientHello = {
  readonly revision: number;
  readonly database: string;
  readonly user: string;
  readonly password: string;
};

/** The rest of a client's hello, after the type of the packet. */
export function readClientHello(reader: Reader): ClientHello {
  reader.string();
  reader.varUint();
  reader.varUint();
  const revision = reader.varUint();
  return { revision, database: reader.text(), user: reader.text(), password: reader.text() };
}

/** The engine has that of its process, which is that of the machine. */
const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The answer to a client of this revision, which names no setting: a client would apply them as its own. */
export function serverHello(clientRevision: number, displayName: string): Buffer {
  const [major = 0, minor = 0, patch = 0] = packagedVersion.split(".").map(Number);
  const has = (revision: number) => clientRevision >= revision;
  const hello = new Writer().varUint(serverPackets.hello).string("ClickHouse");
  hello.varUint(major).varUint(minor).varUint(ourRevision);
  if (has(since.replicasVersion)) hello.varUint(replicasVersion);
  hello.string(timezone);
  if (has(since.displayName)) hello.string(displayName);
  if (has(since.patch)) hello.varUint(patch);
  // Chunks carry nothing that packets do not, and only new clients know them.
  if (has(since.chunks)) hello.string("notchunked").string("notchunked");
  if (has(since.passwordRules)) hello.varUint(0);
  if (has(since.nonce)) hello.raw(randomBytes(8));
  if (has(since.serverSettings)) hello.string("");
  if (has(since.queryPlan)) hello.varUint(queryPlanVersion);
  if (has(since.clusterFunctions)) hello.varUint(clusterFunctionVersion);
  return hello.done();
}

/** What a client adds after the answer. Nothing of it is used; clients who insist on chunks are refused. */
export function readAddendum(reader: Reader, revision: number): void {
  if (revision >= since.addendum) reader.string();
  if (revision >= since.chunks) {
    for (const word of [reader.text(), reader.text()]) {
      if (word === "chunked") throw new MalformedPacket("Packets in chunks are not available: use notchunked.");
    }
  }
  if (revision >= since.replicasVersion) reader.varUint();
}

/** How a connection to the engine introduces itself: with a login, or as one whose every query carries a seal. */
export type EngineLogin =
  | { readonly user: string; readonly password: string }
  | { readonly cluster: string; readonly salt: Buffer };

export function engineHello(at: { revision: number; database: string; login: EngineLogin }): Buffer {
  const [major = 0, minor = 0] = packagedVersion.split(".").map(Number);
  const hello = new Writer().varUint(clientPackets.hello).string("Millrace").varUint(major).varUint(minor);
  hello.varUint(at.revision).string(at.database);
  if ("user" in at.login) return hello.string(at.login.user).string(at.login.password).done();
  return hello.string(" INTERSERVER SECRET ").string("").string(at.login.cluster).string(at.login.salt).done();
}

export function engineAddendum(revision: number): Buffer {
  const addendum = new Writer();
  if (revision >= since.addendum) addendum.string("");
  if (revision >= since.chunks) addendum.string("notchunked").string("notchunked");
  if (revision >= since.replicasVersion) addendum.varUint(replicasVersion);
  return addendum.done();
}

/** The engine's answer: the number that belongs into seals, if there is one. */
export function readServerHello(reader: Reader, revision: number): { readonly nonce: bigint | undefined } {
  const has = (gate: number) => revision >= gate;
  if (reader.varUint() !== serverPackets.hello) throw new MalformedPacket("The engine refuses the connection.");
  reader.string();
  for (let i = 0; i < 3; i += 1) reader.varUint();
  if (has(since.replicasVersion)) reader.varUint();
  reader.string();
  if (has(since.displayName)) reader.string();
  if (has(since.patch)) reader.varUint();
  if (has(since.chunks)) skipStrings(reader, 2);
  if (has(since.passwordRules)) skipStrings(reader, 2 * reader.varUint());
  const nonce = has(since.nonce) ? reader.uint64() : undefined;
  if (has(since.serverSettings)) readSettings(reader);
  if (has(since.queryPlan)) reader.varUint();
  if (has(since.clusterFunctions)) reader.varUint();
  return { nonce };
}

export function skipStrings(reader: Reader, count: number): void {
  for (let i = 0; i < count; i += 1) reader.string();
}

export type WireSetting = { readonly name: string; readonly flags: number; readonly value: string };

/** A list of settings, or of parameters. */
export function readSettings(reader: Reader): WireSetting[] {
  const settings: WireSetting[] = [];
  for (;;) {
    const name = reader.text();
    if (name === "") return settings;
    if (settings.length >= maxSettings) throw new MalformedPacket(`A query can have ${maxSettings} settings.`);
    settings.push({ name, flags: reader.varUint(), value: reader.text() });
  }
}

export function writeSettings(writer: Writer, settings: readonly WireSetting[]): void {
  for (const { name, flags, value } of settings) writer.string(name).varUint(flags).string(value);
  writer.string("");
}

const maxSettings = 10_000;
