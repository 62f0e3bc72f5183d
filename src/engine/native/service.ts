/** Serves the connections of the native protocol in an engine host. */
import type { Socket } from "node:net";
import type { NativeConnection, NativeHooks, NativeServer } from "../../endpoint/handoff/native-server.ts";
import { ClientSession } from "./client-session.ts";
import { settle } from "./kept-answers.ts";
import type { NativeOptions } from "./options.ts";

export class NativeService implements NativeServer {
  readonly #options: NativeOptions;
  readonly #sessions = new Set<ClientSession>();

  constructor(options: Omit<NativeOptions, "resting">) {
    this.#options = { ...options, resting: new Set() };
  }

  serve(socket: Socket, hooks: NativeHooks): NativeConnection {
    const session = new ClientSession(socket, hooks, this.#options);
    this.#sessions.add(session);
    socket.once("close", () => this.#sessions.delete(session));
    void session.run();
    return session;
  }

  async settle(): Promise<void> {
    const unsettled = [...this.#sessions].filter(({ unsettled }) => unsettled !== undefined);
    await settle(this.#options.client, unsettled);
  }
}
