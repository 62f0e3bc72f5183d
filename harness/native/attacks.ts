/**
 * Attempts to have a statement run that nobody has judged: it hides among what a client may send. Each is the bytes
 * after a login; what they try to run is a statement that the guard refuses and an engine runs.
 */
import { Writer } from "../../src/endpoint/native/codec.ts";
import { emptyData, hello, queryPacket, stringData } from "./client.ts";

export type Attack = {
  readonly name: string;
  /** Packets in the order in which they are sent; a pause between them lets the other side answer. */
  readonly packets: (revision: number, smuggled: Buffer) => readonly Buffer[];
  /** False: a server runs the statement of nobody here either, so that the control proves nothing. */
  readonly worksAtServer: boolean;
  /** How the client leaves. */
  readonly leaves?: "reset";
};

/** Two statements in one, which the guard refuses. */
export function smuggledStatement(table: string): string {
  return `CREATE TABLE ${table} (a Int8) ENGINE = Memory PARALLEL WITH CREATE TABLE ${table}_2 (a Int8) ENGINE = Memory`;
}

const insert = "INSERT INTO target VALUES";
const megabyte = "x".repeat(1_048_576);
const garbage = Buffer.from("0200010002ffffffff0001017f", "hex");
const begin = (revision: number) => Buffer.concat([queryPacket(insert, revision), emptyData]);
const compressedGarbage = Buffer.concat([
  Buffer.from([2, 0]),
  Buffer.alloc(16, 7),
  Buffer.from("82130000000a000000", "hex"),
  Buffer.alloc(10),
]);

export const attacks: readonly Attack[] = [
  {
    name: "after the end of an insert, at once",
    packets: (revision, smuggled) => [
      Buffer.concat([begin(revision), stringData(revision, ["a"]), emptyData, smuggled]),
    ],
    worksAtServer: true,
  },
  {
    name: "after the end of an insert, with its data",
    packets: (revision, smuggled) => [
      begin(revision),
      Buffer.concat([stringData(revision, ["a"]), emptyData, smuggled]),
    ],
    worksAtServer: true,
  },
  {
    name: "fifty times after the end of an insert",
    packets: (revision, smuggled) => [
      begin(revision),
      Buffer.concat([stringData(revision, ["a"]), emptyData, ...Array.from({ length: 50 }, () => smuggled)]),
    ],
    worksAtServer: true,
  },
  {
    name: "after so much data that the kernel moves it",
    packets: (revision, smuggled) => [
      begin(revision),
      Buffer.concat([...Array.from({ length: 12 }, () => stringData(revision, [megabyte])), emptyData, smuggled]),
    ],
    worksAtServer: true,
  },
  {
    name: "amid the data",
    packets: (revision, smuggled) => [begin(revision), Buffer.concat([stringData(revision, ["a"]), smuggled])],
    worksAtServer: false,
  },
  {
    name: "in place of the data",
    packets: (revision, smuggled) => [Buffer.concat([queryPacket(insert, revision), smuggled])],
    worksAtServer: false,
  },
  {
    name: "after a cancel amid the data",
    packets: (revision, smuggled) => [
      begin(revision),
      Buffer.concat([stringData(revision, ["a"]), Buffer.from([3]), smuggled]),
    ],
    worksAtServer: false,
  },
  {
    name: "after a block that does not parse",
    packets: (revision, smuggled) => [begin(revision), Buffer.concat([garbage, smuggled])],
    worksAtServer: false,
  },
  {
    name: "after a compressed block with a wrong checksum",
    packets: (revision, smuggled) => [
      Buffer.concat([queryPacket(insert, revision, { compressed: true }), emptyData]),
      Buffer.concat([compressedGarbage, smuggled]),
    ],
    worksAtServer: false,
  },
  ...[
    ["a ping", Buffer.from([4])],
    ["a hello of another user", hello({ user: "millrace-internal" })],
    ["a query plan", Buffer.from([13, 1, 0])],
    ["a question for tables", new Writer().varUint(5).varUint(1).string("default").string("target").done()],
    ["ignored parts", new Writer().varUint(8).varUint(0).done()],
    ["a packet that keeps alive", Buffer.from([6])],
    ["a task of another server", Buffer.from([9, 1, 0])],
  ].map(
    ([name, packet]): Attack => ({
      name: `amid the data, after ${name}`,
      packets: (revision, smuggled) => [
        begin(revision),
        Buffer.concat([stringData(revision, ["a"]), packet as Buffer, smuggled]),
      ],
      worksAtServer: false,
    }),
  ),
  {
    name: "after the data of an external table",
    packets: (revision, smuggled) => [
      Buffer.concat([
        queryPacket("SELECT * FROM ext", revision),
        stringData(revision, ["a"], { table: "ext" }),
        emptyData,
        smuggled,
      ]),
    ],
    worksAtServer: true,
  },
  {
    name: "amid the data of an external table",
    packets: (revision, smuggled) => [
      Buffer.concat([
        queryPacket("SELECT * FROM ext", revision),
        stringData(revision, ["a"], { table: "ext" }),
        smuggled,
      ]),
    ],
    worksAtServer: false,
  },
  {
    name: "after a scalar",
    packets: (revision, smuggled) => {
      const scalar = stringData(revision, ["a"], { table: "x" });
      scalar[0] = 7;
      return [Buffer.concat([queryPacket("SELECT 1", revision), scalar, emptyData, smuggled])];
    },
    worksAtServer: true,
  },
  {
    name: "after a query whose answer has not come",
    packets: (revision, smuggled) => [Buffer.concat([queryPacket("SELECT sleep(0.3)", revision), emptyData, smuggled])],
    worksAtServer: false,
  },
  {
    name: "in an empty frame that is longer than it says",
    packets: (revision, smuggled) => {
      const frame = Buffer.concat([Buffer.from([2, 0]), Buffer.alloc(16), Buffer.from([0x02]), Buffer.alloc(8)]);
      frame.writeUInt32LE(9, 19);
      frame.writeUInt32LE(10, 23);
      return [Buffer.concat([queryPacket("SELECT 1", revision, { compressed: true }), frame, smuggled])];
    },
    worksAtServer: false,
  },
  {
    name: "in a text with packets in it",
    packets: (revision, smuggled) => [
      Buffer.concat([
        queryPacket(Buffer.concat([Buffer.from("SELECT 1 -- "), emptyData, smuggled]), revision),
        emptyData,
      ]),
    ],
    worksAtServer: false,
  },
  {
    name: "in a query id with packets in it",
    packets: (revision, smuggled) => [
      Buffer.concat([queryPacket("SELECT 1", revision, { id: smuggled.toString("latin1") }), emptyData]),
    ],
    worksAtServer: false,
  },
  ...(["at once", "with its data"] as const).map(
    (when): Attack => ({
      name: `after an insert, ${when}, and gone`,
      packets: (revision, smuggled) =>
        when === "at once"
          ? [Buffer.concat([begin(revision), stringData(revision, ["a"]), emptyData, smuggled])]
          : [begin(revision), Buffer.concat([stringData(revision, ["a"]), emptyData, smuggled])],
      worksAtServer: false,
      leaves: "reset",
    }),
  ),
];

/** A statement that goes as a query of its own, with something that only servers may say. */
export const forgedQueries: readonly { readonly name: string; readonly parts: Parameters<typeof queryPacket>[2] }[] = [
  { name: "a seal of its own", parts: { seal: "x".repeat(32) } },
  { name: "no kind", parts: { kind: 0 } },
  { name: "the kind of another server", parts: { kind: 2, initialUser: "millrace-internal" } },
  { name: "an unknown kind", parts: { kind: 9 } },
  { name: "the stage of a plan", parts: { stage: 7 } },
  { name: "another stage", parts: { stage: 0 } },
  { name: "the internal user as the first one", parts: { initialUser: "millrace-internal" } },
  { name: "an address that must be resolved", parts: { initialAddress: "localhost:http" } },
  { name: "a token", parts: { token: "x.y.z" } },
];
