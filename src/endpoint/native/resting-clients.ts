/**
 * The native connections of one service in the gateway. While its engine runs they are handed over; otherwise clients
 * log in here, and their first query after that wakes the service. A connection that rests holds no engine.
 */
import type { Socket } from "node:net";
import { hostname } from "node:os";
import { clickHouseException } from "../../clickhouse/exception.ts";
import type { LineLogger } from "../../lib/deferred-logger.ts";
import { drained } from "../../lib/drained.ts";
import { AppError } from "../../lib/errors.ts";
import { makeRoom, markLoggedIn } from "../auth/logged-in.ts";
import type { Logins } from "../auth/logins.ts";
import { aheadOf, namedClientOf, setClient } from "../connections/client-address.ts";
import type { ForwardAddress } from "../forward/upstream.ts";
import { loopbackConnector } from "../forward/upstream-connection.ts";
import type { GatewayBackend } from "../gateway/backend.ts";
import type { Admission } from "../handoff/admission.ts";
import type { HandoffSender } from "../handoff/sender.ts";
import { exceptionPacket, shownException } from "./exception-packet.ts";
import { clientPackets, serverPackets } from "./hello.ts";
import { ClientGone, PacketInput } from "./input.ts";
import { logIn } from "./login.ts";
import { type PipeTarget, passPackets } from "./pipe.ts";
import type { NativeSession } from "./session.ts";

/** Connections of one service. */
const maxConnections = 2_000;

export type RestingOptions = {
  readonly serviceId: string;
  readonly backend: GatewayBackend;
  readonly logins: Logins;
  /** Gives a host the service's users before its first connection. */
  readonly admission: Pick<Admission, "admit">;
  /** False: TLS ends here, so that another process cannot continue with a connection. */
  readonly handsOver: boolean;
  /** The server that has the engine, if that is another one. Throws the exception for the client. */
  readonly elsewhere?: () => PipeTarget | undefined;
  readonly logger: LineLogger;
};

export class RestingClients {
  readonly #options: RestingOptions;
  readonly #here = new Set<Socket>();
  #isClosed = false;

  constructor(options: RestingOptions) {
    this.#options = options;
  }

  /** Serves a connection of which nothing was read but what `setClient` knows. */
  adopt(socket: Socket): void {
    if (this.#isClosed) return void socket.destroy();
    const to = this.#options.handsOver ? this.#receiver() : undefined;
    if (to !== undefined) this.#handOver(socket, to, "new");
    else if (this.#here.size < maxConnections) this.#greet(socket);
    else socket.destroy();
  }

  /** Serves the connection of a client that has logged in. */
  resume(socket: Socket, session: NativeSession): void {
    if (this.#isClosed) return void socket.destroy();
    markLoggedIn(socket);
    void this.#wait(socket, this.#open(socket), session);
  }

  #greet(socket: Socket): void {
    const input = this.#open(socket);
    makeRoom(socket, this.#here);
    const { logins } = this.#options;
    void logIn(socket, input, { logins, displayName: hostname() }).then((session) => {
      if (session !== undefined) void this.#wait(socket, input, session);
    });
  }

  close(): void {
    this.#isClosed = true;
    for (const socket of this.#here) socket.destroy();
  }

  #receiver(): HandoffSender | undefined {
    const to = this.#options.backend.handoff(this.#options.serviceId);
    return to?.open === true ? to : undefined;
  }

  #handOver(socket: Socket, to: HandoffSender, native: NativeSession | "new"): void {
    this.#options.admission.admit(to).catch(() => {});
    const takeBack = (returned: Socket, session: NativeSession | undefined) => {
      if (session === undefined) this.adopt(returned);
      else this.resume(returned, session);
    };
    to.send(socket, takeBack, native);
  }

  #open(socket: Socket): PacketInput {
    this.#here.add(socket);
    socket.once("close", () => this.#here.delete(socket));
    return new PacketInput(socket, aheadOf(socket));
  }

  /** Until the client's next packet begins, which wakes the service unless it is a ping. */
  async #wait(socket: Socket, input: PacketInput, session: NativeSession): Promise<void> {
    try {
      let current = session;
      while (!this.#options.handsOver) {
        await otherThanPing(socket, input);
        const to = this.#options.elsewhere?.() ?? (await this.#host(socket));
        const rests = await passPackets(socket, input, current, to);
        if (rests === undefined) return void socket.destroySoon();
        current = rests;
      }
      await otherThanPing(socket, input);
      const { to } = await this.#wake(socket);
      if (socket.destroyed) return;
      setClient(socket, { address: namedClientOf(socket), ahead: input.release() });
      this.#here.delete(socket);
      this.#handOver(socket, to, session);
    } catch (error) {
      this.#fail(socket, error);
    }
  }

  async #host(client: Socket): Promise<PipeTarget> {
    const { to: sender, host } = await this.#wake(client);
    await this.#options.admission.admit(sender);
    return { connector: loopbackConnector(host.port), header: `X-Millrace-Key: ${host.key}`, sender };
  }

  async #wake(socket: Socket): Promise<{ readonly to: HandoffSender; readonly host: ForwardAddress }> {
    const gone = new AbortController();
    const onClose = () => gone.abort(new ClientGone());
    socket.once("close", onClose);
    let host: ForwardAddress;
    try {
      const lease = await this.#options.backend.acquire(this.#options.serviceId, gone.signal);
      host = lease.forwardAddress;
      lease.release();
    } finally {
      socket.off("close", onClose);
    }
    const to = this.#receiver();
    if (to !== undefined) return { to, host };
    throw new AppError("SERVICE_UNAVAILABLE", "The service has too many connections.");
  }

  #fail(socket: Socket, error: unknown): void {
    const shown = shownException(error);
    if (shown !== undefined) socket.write(exceptionPacket(shown));
    else if (error instanceof AppError)
      socket.write(exceptionPacket(clickHouseException("NETWORK_ERROR", error.message)));
    else if (!(error instanceof ClientGone)) this.#options.logger.error({ err: error }, "native connection failed");
    // What the client has sent is read, so that it gets to read the exception.
    socket.end();
    socket.resume();
  }
}

/** Resolves when another packet begins. Pools of clients send pings to see whether a connection lives. */
async function otherThanPing(socket: Socket, input: PacketInput): Promise<void> {
  for (;;) {
    await input.begin();
    const pings = input.readRun(clientPackets.ping);
    if (pings === 0) return;
    if (!socket.write(Buffer.alloc(pings, serverPackets.pong))) await drained(socket);
  }
}
