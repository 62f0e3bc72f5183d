/**
 * The data of a large INSERT: once much of it was copied, a thread has the kernel move the rest from the client to the
 * engine. What follows the data would be moved as well, so it is stopped before the client learns of the answer's end.
 */
import type { PacketInput } from "../../endpoint/native/input.ts";
import { descriptorOf } from "../../endpoint/splice/socket-handle.ts";
import type { SpliceJob, Splicer, SpliceThread } from "../../endpoint/splice/splicer.ts";
import type { SealedConnection } from "./sealed-connection.ts";

/** Less is copied: to move it costs as much as it gains. */
const leastBytes = 1_048_576;
/** The same while no thread is ready: one has to start. */
const leastToStart = 4 * leastBytes;

export class MovedData {
  readonly #splicer: Splicer;
  readonly #input: PacketInput;
  readonly #engine: SealedConnection;
  #copied = 0;
  #isTried = false;
  #isOver = false;
  #job: SpliceJob | undefined;

  constructor(splicer: Splicer, input: PacketInput, engine: SealedConnection) {
    this.#splicer = splicer;
    this.#input = input;
    this.#engine = engine;
  }

  /** Called when so many bytes more were copied. */
  copied(bytes: number): void {
    this.#copied += bytes;
    const least = this.#splicer.isReady ? leastBytes : leastToStart;
    if (this.#copied < least || this.#isTried || this.#isOver) return;
    this.#isTried = true;
    this.#move().catch(() => this.#engine.end());
  }

  /** Nothing is moved any more when it resolves, and the client is read as usual. */
  async stop(): Promise<void> {
    this.#isOver = true;
    const job = this.#job;
    job?.cancel();
    await job?.outcome.catch(() => {});
    this.#input.readAgain(0);
  }

  async #move(): Promise<void> {
    const thread = await this.#splicer.reserve();
    if (thread === undefined) return;
    if (!this.#isOver) this.#job = await this.#takeOver(thread);
    if (this.#job === undefined) return thread.release();
    const outcome = await this.#job.outcome.catch(() => undefined);
    this.#job = undefined;
    this.#input.readAgain(outcome?.taken ?? 0);
    // Bytes were lost with the thread.
    if (outcome === undefined) this.#engine.end();
  }

  async #takeOver(thread: SpliceThread): Promise<SpliceJob | undefined> {
    const { socket } = this.#engine;
    const isStopped = await this.#input.stopReading();
    // What was copied is in the kernel before more is moved.
    if (!this.#isOver) await new Promise((resolve) => socket.write("", resolve));
    const from = this.#input.descriptor;
    const into = descriptorOf(socket);
    const canMove = !this.#isOver && isStopped?.() === true && from !== undefined && into !== undefined;
    if (canMove) return thread.move(from, into, Number.MAX_SAFE_INTEGER);
    this.#input.readAgain(0);
    return undefined;
  }
}
