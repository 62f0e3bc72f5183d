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
  /** Gets what the engine sends; its memory is used again when it returns, unless it has called `hold`. */
  onBytes: (bytes: Buffer) => void = () => {};
  readonly #reads = new LeasedReads((bytes) => this.onBytes(bytes));
  #sealing: Sealing | undefined;
  #ended = false;

  private constructor({ host, port }: NativePort, revision: number) {
    this.revision = revision;
    this.socket = connect({ host, port, noDelay: true, onread: this.#reads.onread });
    this.#reads.socket = this.socket;
    this.socket.on("error", () => {});
    this.socket.once("close", () => {
      this.#ended = true;
    });
  }

  /**
   * Rejects when the engine does not answer. The database must exist, and so must `user`, which logs in; without one,
   * queries are sealed.
   */
  static async open(at: NativePort, revision: number, database: string, user?: string): Promise<SealedConnection> {
    const connection = new SealedConnection(at, revision);
    await once(connection.socket, "connect");
    await connection.#shakeHands(at, database, user);
    return connection;
  }

  async #shakeHands({ secret, key }: NativePort, database: string, user: string | undefined): Promise<void> {
    const { socket, revision } = this;
    const salt = Buffer.from(randomBytes(16).toString("hex"));
    const login = user === undefined ? { cluster: sealedClusterName, salt } : { user, password: key };
    // The addendum is the same whatever the engine answers: one write wakes it once.
    socket.write(Buffer.concat([engineHello({ revision, database, login }), engineAddendum(revision)]));
    const { promise, resolve, reject } = Promise.withResolvers<ReturnType<typeof readServerHello>>();
    let bytes = Buffer.alloc(0);
    this.onBytes = (chunk) => {
      bytes = Buffer.concat([bytes, chunk]);
      try {
        resolve(readServerHello(new Reader(bytes), revision));
      } catch (error) {
        if (!(error instanceof Incomplete)) reject(error);
      }
    };
    const onClose = () => reject(new Error("the engine has closed the connection"));
    socket.once("end", onClose).once("close", onClose);
    const { nonce } = await promise;
    socket.off("end", onClose).off("close", onClose);
    this.onBytes = () => {};
    if (user === undefined) this.#sealing = { salt, nonce, secret };
  }

  /** Keeps the memory until the returned function is called. The engine is read no further ahead than that. */
  hold(): () => void {
    return this.#reads.hold();
  }

  /** False once either side has ended it. */
  get isOpen(): boolean {
    return !this.#ended;
  }

  /** Sends a query, and the empty block that follows every query; `hasBlocks`: the client sends that one. */
  query(query: SealedQuery, hasBlocks = false): void {
    const packet = sealedQuery(query, this.revision, this.#sealing);
    this.socket.write(hasBlocks ? packet : Buffer.concat([packet, emptyData(query.compressed)]));
  }

  /** Ends the data of an INSERT without compression. */
  endData(): void {
    this.socket.write(emptyData(false));
  }

  /** Cancels what runs. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.onBytes = () => {};
    this.socket.removeAllListeners("end");
    this.socket.end();
    this.socket.resume();
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
