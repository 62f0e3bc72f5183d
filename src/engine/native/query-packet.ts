/**
 * The Query packet: read completely from a client, and written anew for the engine. What a client may not say is
 * refused, and nothing of the client's bytes is passed on but the contents of strings.
 */
import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { isIPv6 } from "node:net";
import { MalformedPacket, type Reader, Writer } from "../../endpoint/native/codec.ts";
import { clientPackets, readSettings, since, type WireSetting, writeSettings } from "../../endpoint/native/hello.ts";
import { decodeQuoted } from "../sql/text/quotes.ts";

export type ClientQuery = {
  readonly id: Buffer;
  readonly origin: Origin;
  /** True for a part of another server's query, whose settings are those of that server. */
  readonly isPart: boolean;
  readonly settings: readonly WireSetting[];
  readonly stage: number;
  readonly compressed: boolean;
  readonly text: Buffer;
  /** Values are unquoted, as in `param_x` over HTTP. */
  readonly parameters: readonly (readonly [name: string, value: string])[];
};

/** What a client says of itself, and the engine keeps in its query log. */
export type Origin = {
  readonly osUser: Buffer;
  readonly hostName: Buffer;
  readonly clientName: Buffer;
  readonly version: readonly [major: number, minor: number, patch: number];
  /** Trace id, span id, state and flags as they came. */
  readonly trace: { readonly ids: Buffer; readonly state: Buffer; readonly flags: number } | undefined;
};

const initialQuery = 1;
const secondaryQuery = 2;
const tcp = 1;
const http = 2;
const complete = 2;
/** The stages that a server asks another one for. */
const lastStage = 4;
/** Marks a setting that is not a setting of the engine: all parameters have it. */
export const customFlag = 2;

/** The rest of a Query packet, after its type. Throws MalformedPacket with a sentence for the client. */
export function readQuery(reader: Reader, revision: number): ClientQuery {
  const id = reader.string();
  const { kind, origin } = readClientInfo(reader, revision);
  const settings = revision >= since.settingTexts ? readSettings(reader) : readNoSettings(reader);
  if (revision >= since.roles && reader.string().some((byte) => byte !== 0)) refused("roles of another server");
  if (revision >= since.seal && reader.string().length > 0) refused("the seal of a server");
  const stage = reader.varUint();
  if (kind === initialQuery ? stage !== complete : stage > lastStage) refused(`the stage ${stage}`);
  const compressed = reader.varUint() === 1;
  const text = reader.string();
  const given = revision >= since.parameters ? readSettings(reader) : [];
  const parameters = given.map(({ name, value }) => [name, unquoted(name, value)] as const);
  return { id, origin, isPart: kind === secondaryQuery, settings, stage, compressed, text, parameters };
}

/** What ends an old list of settings also ends an empty one. */
function readNoSettings(reader: Reader): readonly WireSetting[] {
  const name = reader.text();
  if (name === "") return [];
  const text = `write ${name} into the statement (SETTINGS).`;
  throw new MalformedPacket(`Settings of clients before 2020 cannot be read: ${text}`);
}

function readClientInfo(reader: Reader, revision: number): { readonly kind: number; readonly origin: Origin } {
  const kind = reader.byte();
  if (kind !== initialQuery && kind !== secondaryQuery) refused(`the kind ${kind}`);
  // User, query id and address of whoever asked first: what a client says of them is not believed.
  for (let i = 0; i < 3; i += 1) reader.string();
  if (revision >= since.startTime) reader.bytes(8);
  const way = reader.byte();
  const none = Buffer.alloc(0);
  const names = way === tcp ? [reader.string(), reader.string(), reader.string()] : [none, none, none];
  const [osUser = none, hostName = none, clientName = none] = names;
  const numbers = way === tcp ? [reader.varUint(), reader.varUint(), reader.varUint()] : [];
  if (way === http) readHttpInfo(reader, revision);
  reader.string();
  if (revision >= since.depth) reader.varUint();
  const patch = way === tcp && revision >= since.patch ? reader.varUint() : 0;
  const trace = revision >= since.traces ? readTrace(reader) : undefined;
  if (revision >= since.parallelReplicas) for (let i = 0; i < 3; i += 1) reader.varUint();
  if (revision >= since.lineNumbers) for (let i = 0; i < 2; i += 1) reader.varUint();
  if (revision >= since.token && reader.byte() !== 0) refused("a token (JWT)");
  const [major = 0, minor = 0] = numbers;
  return { kind, origin: { osUser, hostName, clientName, version: [major, minor, patch], trace } };
}

/** Skips what a server says of a query that it has received over HTTP. */
function readHttpInfo(reader: Reader, revision: number): void {
  reader.byte();
  reader.string();
  if (revision >= since.forwardedFor) for (let i = 0; i < 2; i += 1) reader.string();
}

function readTrace(reader: Reader): Origin["trace"] {
  if (reader.byte() === 0) return undefined;
  return { ids: reader.bytes(24), state: reader.string(), flags: reader.byte() };
}

function refused(what: string): never {
  throw new MalformedPacket(`A Query packet with ${what} is not available.`);
}

export type SealedQuery = Omit<ClientQuery, "id" | "isPart"> & {
  readonly id: string;
  readonly user: string;
  readonly address: { readonly host: string; readonly port: number };
};

/** What a connection's seals are made with. */
export type Sealing = { readonly salt: Buffer; readonly nonce: bigint | undefined; readonly secret: string };

/**
 * A whole Query packet. The engine runs a sealed one as its user; one without a seal is for a connection on which that
 * user has logged in.
 */
export function sealedQuery(query: SealedQuery, revision: number, sealing: Sealing | undefined): Buffer {
  const writer = new Writer().varUint(clientPackets.query).string(query.id);
  writeClientInfo(writer, query, revision);
  if (revision >= since.settingTexts) writeSettings(writer, query.settings);
  else writeNumbers(writer, query.settings);
  if (revision >= since.roles) writer.string("");
  if (revision >= since.seal) writer.string(sealing === undefined ? "" : sealOf(query, sealing));
  writer
    .varUint(query.stage)
    .varUint(query.compressed ? 1 : 0)
    .string(query.text);
  if (revision >= since.parameters) {
    const flags = customFlag;
    writeSettings(
      writer,
      query.parameters.map(([name, value]) => ({ name, flags, value: quoted(value) })),
    );
  }
  return writer.done();
}

/** Settings in the old form. Those of the front are numbers, and an old client has sent none. */
function writeNumbers(writer: Writer, settings: readonly WireSetting[]): void {
  for (const { name, value } of settings) writer.string(name).varUint(Number(value));
  writer.string("");
}

function sealOf({ text, id, user }: SealedQuery, { salt, nonce, secret }: Sealing): Buffer {
  const number = nonce === undefined ? "" : String(nonce);
  return createHash("sha256").update(salt).update(number).update(secret).update(text).update(id).update(user).digest();
}

function writeClientInfo(writer: Writer, { id, user, address, origin }: SealedQuery, revision: number): void {
  const { host, port } = address;
  const [major, minor, patch] = origin.version;
  writer.byte(initialQuery).string(user).string(id);
  writer.string(isIPv6(host) ? `[${host.split("%")[0]}]:${port}` : `${host}:${port}`);
  if (revision >= since.startTime) writer.raw(Buffer.alloc(8));
  writer.byte(tcp).string(origin.osUser).string(origin.hostName).string(origin.clientName);
  writer.varUint(major).varUint(minor).varUint(revision).string("");
  if (revision >= since.depth) writer.varUint(0);
  if (revision >= since.patch) writer.varUint(patch);
  if (revision >= since.traces) writeTrace(writer, origin.trace);
  if (revision >= since.parallelReplicas) writer.varUint(0).varUint(0).varUint(0);
  if (revision >= since.lineNumbers) writer.varUint(0).varUint(0);
  if (revision >= since.token) writer.byte(0);
}

function writeTrace(writer: Writer, trace: Origin["trace"]): void {
  if (trace === undefined) writer.byte(0);
  else writer.byte(1).raw(trace.ids).string(trace.state).byte(trace.flags);
}

/** A value is a text in quotes, as the engine writes it. */
function unquoted(name: string, value: string): string {
  if (!/^'(?:[^'\\]|\\[\s\S])*'$/.test(value)) {
    throw new MalformedPacket(`The value of parameter ${name} is not a text in quotes.`);
  }
  const bytes = Buffer.from(decodeQuoted(Buffer.from(value).toString("latin1")).value, "latin1");
  if (!isUtf8(bytes)) throw new MalformedPacket(`The value of parameter ${name} is not a text in UTF-8.`);
  return bytes.toString();
}

function quoted(value: string): string {
  return `'${value.replace(/[\\']/g, "\\$&")}'`;
}
