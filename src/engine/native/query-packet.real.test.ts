/**
 * Whatever a client writes into a Query packet, the engine runs what was judged, and nothing else: text, settings and
 * parameters of random packets are read, written anew and sealed, and the engine is asked for what it runs.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BareEngine } from "../../../harness/engine/bare-engine.ts";
import { NativeClient, newest, queryPacket, quoted } from "../../../harness/native/client.ts";
import { Reader } from "../../endpoint/native/codec.ts";
import { clientPackets, since } from "../../endpoint/native/hello.ts";
import { type ClientQuery, readQuery } from "./query-packet.ts";
import { engineRevision, SealedConnection } from "./sealed-connection.ts";
import { ownSettings, passedSettings } from "./settings.ts";

let engine: BareEngine;
/** One for each revision of clients. */
const connections = new Map<number, { readonly sealed: SealedConnection; readonly client: NativeClient }>();

beforeAll(async () => {
  engine = await BareEngine.start();
  for (const revision of revisions) {
    const at = engineRevision(revision);
    const sealed = await SealedConnection.open(engine.nativeAddress, at, "");
    sealed.onBytes = (bytes) => sealed.socket.emit("data", Buffer.from(bytes));
    connections.set(revision, { sealed, client: new NativeClient(sealed.socket, at) });
  }
});
afterAll(async () => {
  for (const { sealed } of connections.values()) sealed.end();
  await engine?.[Symbol.asyncDispose]();
});

const revisions = [54_429, 54_441, 54_448, 54_453, 54_460, 54_468, 54_470, 54_475, newest];
/** Characters that a writer escapes are frequent. */
const character = fc.oneof(
  fc.constantFrom(..."'\\\"`\0\b\f\n\r\t\v\x07\x1b/{}xN0"),
  fc.string({ unit: "binary", maxLength: 1 }),
);
const anyText = fc.array(character, { maxLength: 40 }).map((all) => all.join(""));
const setting = fc.oneof(
  fc.tuple(fc.constant("log_comment"), anyText),
  fc.tuple(
    fc.constantFrom("max_threads", "max_block_size", "max_rows_to_read"),
    fc.nat(400).map((n) => String(n + 100)),
  ),
  fc.tuple(fc.constant("session_timezone"), fc.constantFrom("", "UTC", "Asia/Tokyo")),
);
const packet = fc.record({
  revision: fc.constantFrom(...revisions),
  start: anyText,
  clientName: anyText,
  comment: anyText.map((text) => text.replaceAll("*/", "")),
  literal: anyText,
  settings: fc.array(fc.tuple(setting, fc.constantFrom(0, 1)), { maxLength: 6 }),
  parameter: anyText,
  trace: fc.option(
    fc.record({ ids: fc.uint8Array({ minLength: 24, maxLength: 24 }), state: anyText, flags: fc.nat(255) }),
    { nil: undefined },
  ),
});

/** What a client of the packet's revision has asked for, as the front reads it. */
function judged(client: Buffer, revision: number): ClientQuery {
  const reader = new Reader(client);
  expect(reader.varUint()).toBe(clientPackets.query);
  const read = readQuery(reader, revision);
  expect(reader.at).toBe(client.length);
  return read;
}

async function run(query: ClientQuery, revision: number): Promise<string[] | Error> {
  const { sealed, client } = connections.get(revision) as { sealed: SealedConnection; client: NativeClient };
  const own = ownSettings({ valuesMayCompute: false, diskIsFull: false, once: false, isOld: false });
  sealed.query({
    ...query,
    ...{ id: query.id.toString(), user: "default", address: { host: "192.0.2.1", port: 7 } },
    settings: [...passedSettings(query.settings), ...own],
  });
  const { rows, exception } = await client.answer();
  return exception === undefined ? (rows[0] as string[]) : new Error(exception.message);
}

const columns = [
  "hex(query)",
  "user || ' ' || initial_user || ' ' || toString(address) || ' ' || toString(is_initial_query)",
  "hex(client_name)",
  "hex(query_id)",
  "arrayStringConcat(arraySort(arrayMap((name, value) -> name || '=' || hex(value), mapKeys(Settings), mapValues(Settings))), ' ')",
].join(", ");
const from = "FROM system.processes WHERE query_id = queryID()";
const hex = (text: string | Buffer) => Buffer.from(text).toString("hex").toUpperCase();

let ids = 0;

test("the engine runs the text, the settings and the client of the packet that was judged", async () => {
  const plain = await run(judged(queryPacket(`SELECT ${columns} ${from}`, newest), newest), newest);
  const always = (plain as string[])[4]?.split(" ") ?? [];
  expect(always).toContain("sleep_after_receiving_query_ms=30");
  await fc.assert(
    fc.asyncProperty(packet, async ({ revision, start, clientName, comment, literal, settings, trace }) => {
      const text = `SELECT ${columns}, hex(${quoted(literal)}) /* ${comment} */ ${from}`;
      // An id cannot be used again at once.
      ids += 1;
      const id = `${start}.${ids}`;
      const given = settings.map(([[name, value], flags]) => [name, value, flags] as const);
      const traced = trace && { ...trace, ids: Buffer.from(trace.ids) };
      const sent = queryPacket(text, revision, { id, clientName, settings: given, ...(traced && { trace: traced }) });
      const query = judged(sent, revision);
      expect(query.text.toString()).toBe(text);
      const last = new Map<string, string>(given.map(([name, value]) => [name, value]));
      expect(new Map(passedSettings(query.settings).map(({ name, value }) => [name, value]))).toEqual(last);
      // A default is not a change.
      const changed = [...last].filter(([, value]) => value !== "").map(([name, value]) => `${name}=${hex(value)}`);
      const held = always.filter((entry) => !last.has(entry.split("=")[0] as string));
      expect(await run(query, revision)).toEqual([
        hex(text),
        "default default ::ffff:192.0.2.1 1",
        hex(clientName),
        hex(id),
        [...held, ...changed].sort().join(" "),
        hex(literal),
      ]);
    }),
    { numRuns: 300 },
  );
});

test("a parameter is what it is over HTTP", async () => {
  const sql = "SELECT hex({p:String})";
  await fc.assert(
    fc.asyncProperty(
      anyText,
      fc.constantFrom(...revisions.filter((one) => one >= since.parameters)),
      async (value, revision) => {
        const sent = queryPacket(sql, revision, { parameters: [["p", quoted(value)]] });
        const query = judged(sent, revision);
        expect(query.parameters).toEqual([["p", value]]);
        const wanted = await engine
          .clientOf("default")
          .text(sql, { params: { p: value } })
          .catch((error: Error) => error);
        const found = await run(query, revision);
        if (wanted instanceof Error) expect(found).toBeInstanceOf(Error);
        else expect(found).toEqual([wanted.trim()]);
      },
    ),
    { numRuns: 300 },
  );
});

test("an escape in the text of a parameter is what it is in a statement", async () => {
  const characters = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at));
  const texts = [...characters.filter((one) => one !== "x").map((one) => `'a\\${one}b'`), "'\\x41\\xC3\\xa9\\\\x41'"];
  const wanted = await engine.client.text(`SELECT arrayJoin([${texts.map((text) => `hex(${text})`).join(", ")}])`);
  const found = texts.map((text) => {
    const packet = queryPacket("SELECT 1", newest, { parameters: [["p", text]] });
    return hex(judged(packet, newest).parameters[0]?.[1] ?? "");
  });
  expect(found).toEqual(wanted.trimEnd().split("\n"));
  const broken = queryPacket("SELECT 1", newest, { parameters: [["p", "'\\x80'"]] });
  expect(() => judged(broken, newest)).toThrow("not a text in UTF-8");
});
