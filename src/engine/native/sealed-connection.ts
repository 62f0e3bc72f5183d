/**
 * A connection to the engine's own native port, on which only sealed queries run, or only those of a user that has
 * logged in there. It is never broken, because the engine library ends with its process when a connection breaks at
 * the wrong moment: it is ended, and read until the engine ends it too.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { LeasedReads } from "../../endpoint/forward/read-buffers.ts";
import { Incomplete, Reader } from "../../endpoint/native/codec.ts";
import {
  clientPackets,
  engineAddendum,
  engineHello,
  ourRevision,
  readServerHello,
  since,
} from "../../endpoint/native/hello.ts";
import { sealedClusterName } from "../chdb/configuration.ts";
import { type SealedQuery, type Sealing, sealedQuery } from "./query-packet.ts";

export type NativePort = {
  readonly host: string;
  readonly port: number;
  readonly secret: string;
  /** The password of the engine's users. */
  readonly key: string;
};

/** The revision of the engine's side: a client below the first one with seals gets the same blocks. */
export function engineRevision(clientRevision: number): number {
  return Math.min(ourRevision, Math.max(since.seal, clientRevision));
}

export class SealedConnection {
  readonly socket: Socket;
  readonly revision: number;
  readonly #sealing: Sealing | undefined;
  readonly #answers: Answers;
  #ended = false;

  private constructor(socket: Socket, answers: Answers, revision: number, sealing: Sealing | undefined) {
    this.socket = socket;
    this.revision = revision;
    this.#answers = answers;
    this.#sealing = sealing;
    socket.once("close", () => {
      this.#ended = true;
    });
  }

  /**
   * Rejects when the engine does not answer. The database must exist, and so must `user`, which logs in; without one,
   * queries are sealed.
   */
  static async open(
    { host, port, secret, key }: NativePort,
    revision: number,
    database: string,
    user?: string,
  ): Promise<SealedConnection> {
    const answers = new Answers();
    const socket = connect({ host, port, noDelay: true, onread: answers.reads.onread });
    answers.reads.socket = socket;
    socket.on("error", () => {});
    await once(socket, "connect");
    const salt = Buffer.from(randomBytes(16).toString("hex"));
    const login = user === undefined ? { cluster: sealedClusterName, salt } : { user, password: key };
    // The addendum is the same whatever the engine answers: one write wakes it once.
    socket.write(Buffer.concat([engineHello({ revision, database, login }), engineAddendum(revision)]));
    const { nonce } = await readHello(socket, answers, revision);
    return new SealedConnection(socket, answers, revision, user === undefined ? { salt, nonce, secret } : undefined);
  }

  /** `take` gets what the engine sends; its memory is used again when `take` returns, unless it has called `hold`. */
  set onBytes(take: (bytes: Buffer) => void) {
    this.#answers.take = take;
  }

  /** Keeps the memory until the returned function is called. The engine is read no further ahead than that. */
  hold(): () => void {
    return this.#answers.reads.hold();
  }

  /** False once either side has ended it. */
  get isOpen(): boolean {
    return !this.#ended;
  }

  /** Sends a query, and the empty block that follows every query. */
  query(query: SealedQuery): void {
    this.socket.write(Buffer.concat([sealedQuery(query, this.revision, this.#sealing), emptyData(query.compressed)]));
  }

  /** Sends a query whose first block a client sends. */
  queryWithBlocks(query: SealedQuery): void {
    this.socket.write(sealedQuery(query, this.revision, this.#sealing));
  }

  /** Ends the data of an INSERT without compression. */
  endData(): void {
    this.socket.write(emptyData(false));
  }

  /** Cancels what runs. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#answers.take = () => {};
    this.socket.removeAllListeners("end");
    this.socket.end();
    this.socket.resume();
  }
}

class Answers {
  take: (bytes: Buffer) => void = () => {};
  readonly reads = new LeasedReads((bytes) => this.take(bytes));
}

async function readHello(
  socket: Socket,
  answers: Answers,
  revision: number,
): Promise<{ readonly nonce: bigint | undefined }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly nonce: bigint | undefined }>();
  const onClose = () => reject(new Error("the engine has closed the connection"));
  let bytes = Buffer.alloc(0);
  answers.take = (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    try {
      resolve(readServerHello(new Reader(bytes), revision));
    } catch (error) {
      if (!(error instanceof Incomplete)) reject(error);
    }
  };
  socket.once("end", onClose).once("close", onClose);
  try {
    return await promise;
  } finally {
    socket.off("end", onClose).off("close", onClose);
    answers.take = () => {};
  }
}

/** A block without columns: what a client sends where no data follows. */
const block = Buffer.from("010002ffffffff000000", "hex");
/** The same in a frame that is not compressed, with its checksum. */
const frame = Buffer.from("bb9489a1c169e900ecaff168956a647402130000000a000000010002ffffffff000000", "hex");
const dataWithoutName = Buffer.from([clientPackets.data, 0]);

function emptyData(compressed: boolean): Buffer {
  return Buffer.concat([dataWithoutName, compressed ? frame : block]);
}
