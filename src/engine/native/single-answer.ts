/**
 * One query on a connection of its own: after the sealed packet, the client's bytes go to the engine unread. Whatever
 * query hides in them has no seal, and the engine runs none.
 */
import type { Socket } from "node:net";
import { serverPackets } from "../../endpoint/native/hello.ts";
import type { PacketInput } from "../../endpoint/native/input.ts";
import type { Splicer } from "../../endpoint/splice/splicer.ts";
import { InsertAnswer } from "./insert-answer.ts";
import { MovedData } from "./moved-data.ts";
import type { SealedConnection } from "./sealed-connection.ts";

export type SingleOutcome = {
  /** True when the client can send its next query on its connection: it is known where its data ends. */
  readonly isClean: boolean;
  /** True when the engine has ended the connection before any byte of its answer. */
  readonly isSilent: boolean;
  /** The engine's code, when the answer is an exception. */
  readonly code: number | undefined;
};

export type BeforeEnd = (isSeen: boolean) => Promise<Buffer | undefined>;

export type SingleOptions = {
  readonly client: Socket;
  readonly input: PacketInput;
  readonly engine: SealedConnection;
  readonly splicer: Splicer;
  readonly compressed: boolean;
  /** The answer to an INSERT has no rows, so that its end is seen at once. */
  readonly isInsert: boolean;
  /** True of a client that knows other packets than the engine sends. */
  readonly isOld: boolean;
  /**
   * Called before the client gets the end of an INSERT's answer, unless that is an exception; `isSeen`: all of its data
   * has arrived. Resolves with what the client gets instead, if anything; when it rejects, so does `passSingle`.
   */
  readonly beforeEnd?: BeforeEnd | undefined;
};

/** Joins client and engine until the answer ends. Resolves when the client was sent all of it. */
export async function passSingle(options: SingleOptions): Promise<SingleOutcome> {
  const { client, input, engine, splicer, compressed, isInsert, isOld, beforeEnd } = options;
  const { socket } = engine;
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const answer = isInsert ? new InsertAnswer(compressed, engine.revision) : undefined;
  const moved = isInsert ? new MovedData(splicer, input, engine) : undefined;
  let sent = 0;
  let last = -1;
  let code: number | undefined;
  const held: Buffer[] = [];
  const send = (chunk: Buffer) => {
    sent += chunk.length;
    socket.write(chunk);
    moved?.copied(chunk.length);
  };
  const seemsOver = () => last === serverPackets.endOfStream;
  client.once("end", resolve).once("close", resolve);
  let stopped: Promise<void> | undefined;
  let instead: Buffer | undefined;
  const stop = async (isSeen: boolean) => {
    await moved?.stop();
    if (answer?.code === undefined) instead = await beforeEnd?.(isSeen);
  };
  engine.onBytes = (chunk) => {
    if (last < 0 && chunk[0] === serverPackets.exception && chunk.length >= 5) code = chunk.readInt32LE(1);
    last = chunk.at(-1) as number;
    const state = answer?.read(chunk);
    const shown = isOld && answer !== undefined ? Buffer.concat(answer.known) : chunk;
    const release = engine.hold();
    const pass = () => {
      client.write(instead ?? shown, release);
      if (state === "ended") resolve();
      else if (!seemsOver()) for (const kept of held.splice(0)) send(kept);
    };
    if (state !== "reading") stopped ??= beforeEnd === undefined ? moved?.stop() : stop(state === "ended");
    if (stopped === undefined) return pass();
    stopped = stopped.then(pass);
    stopped.catch(() => resolve());
  };
  socket.once("end", resolve).once("close", resolve);
  // What comes after an answer that seems to be over belongs to the next query.
  input.passTo((chunk) => {
    if (seemsOver()) held.push(chunk);
    else send(chunk);
  }, socket);
  await ended;
  await moved?.stop();
  input.passTo(undefined);
  input.unread(held);
  client.off("end", resolve).off("close", resolve);
  engine.end();
  // The engine may have ended the connection before the client got the end of the answer.
  await stopped;
  code = answer?.code ?? code;
  return { isClean: (seemsOver() && code === undefined) || sent === 0, isSilent: last < 0, code };
}
