/** Serves the connections of the native protocol in an engine host. */
import type { Socket } from "node:net";
import type { NativeConnection, NativeHooks, NativeServer } from "../../endpoint/handoff/native-server.ts";
import { ClientSession } from "./client-session.ts";
import type { NativeOptions, Unsettled } from "./options.ts";

export type NativeServiceOptions = Omit<NativeOptions, "settle" | "resting">;

export class NativeService implements NativeServer {
  readonly #options: NativeOptions;
  readonly #sessions = new Set<ClientSession>();

  constructor(options: NativeServiceOptions) {
    this.#options = { ...options, resting: new Set(), settle: async (session) => await this.#settle([session]) };
  }

  serve(socket: Socket, hooks: NativeHooks): NativeConnection {
    const session = new ClientSession(socket, hooks, this.#options);
    this.#sessions.add(session);
    socket.once("close", () => this.#sessions.delete(session));
    void session.run();
    return session;
  }

  async settle(): Promise<void> {
    await this.#settle([...this.#sessions].filter(({ unsettled }) => unsettled !== undefined));
  }

  async #settle(sessions: readonly Unsettled[]): Promise<void> {
    if (sessions.length === 0) return;
    const sql = "SELECT query_id FROM system.processes FORMAT JSONCompactEachRow";
    const answer = await this.#options.client.text(sql, { settings: { log_queries: 0 } }).catch(() => undefined);
    if (answer === undefined) return;
    const running = new Set(
      answer
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line)[0] as string),
    );
    for (const session of sessions) session.settle(running.has(session.unsettled ?? ""));
  }
}
