/** A client that keeps to one connection and identifies it, for guarantees on connections that stay open. */
import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";

export type RawAnswer = { status: number; text: string; localPort: number; closes: boolean };

export class OneConnection {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #port: number;
  readonly #headers: Record<string, string>;
  readonly #localAddress: string | undefined;

  /** `localAddress` is the address to connect from. */
  constructor(port: number, headers: Record<string, string>, localAddress?: string) {
    this.#port = port;
    this.#headers = headers;
    this.#localAddress = localAddress;
  }

  /** Sends a statement; rejects when the connection breaks. */
  async send(sql: string, headers: Record<string, string> = {}): Promise<RawAnswer> {
    return await this.#request("POST", "/", sql, headers);
  }

  /** Needs no login, and wakes no service. */
  async ping(): Promise<RawAnswer> {
    return await this.#request("GET", "/ping", "", {});
  }

  close(): void {
    this.#agent.destroy();
  }

  #request(method: string, path: string, body: string, headers: Record<string, string>): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port: this.#port, method, path, agent: this.#agent };
      const from = this.#localAddress === undefined ? {} : { localAddress: this.#localAddress };
      const outgoing = request({ ...options, ...from, headers: { ...this.#headers, ...headers } }, (incoming) => {
        const { localPort = 0 } = incoming.socket;
        const closes = incoming.headers.connection === "close";
        text(incoming).then(
          (said) => resolve({ status: incoming.statusCode ?? 0, text: said.trimEnd(), localPort, closes }),
          reject,
        );
      });
      outgoing.on("error", reject).end(body);
    });
  }
}
