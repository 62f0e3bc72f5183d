/** A TCP relay on loopback in front of a server: the same address can lead to another server, or to none. */
import net from "node:net";
import { freePort } from "./free-port.ts";

type Pair = { readonly near: net.Socket; readonly far: net.Socket };

export class Relay implements Disposable {
  readonly port: number;
  /** Port of the server for new connections. */
  target: number;
  /** Per connection, from the server. */
  bytesPerSecond = Number.POSITIVE_INFINITY;
  /** Bytes sent by servers. */
  passed = 0;
  readonly #server: net.Server;
  readonly #pairs = new Set<Pair>();
  readonly #swallowed = new Set<Pair>();
  #isSwallowing = false;

  private constructor(port: number, target: number) {
    this.port = port;
    this.target = target;
    this.#server = net.createServer({ pauseOnConnect: true, allowHalfOpen: true }, (near) => this.#accept(near));
  }

  static async start(target: number): Promise<Relay> {
    const relay = new Relay(await freePort(), target);
    await new Promise<void>((resolve) => relay.#server.listen(relay.port, "127.0.0.1", resolve));
    return relay;
  }

  /** Connections that carry data. */
  get connections(): number {
    return this.#pairs.size;
  }

  /** Ends every connection with a reset, on both sides. */
  reset(): void {
    for (const { near, far } of [...this.#pairs, ...this.#swallowed]) {
      near.resetAndDestroy();
      far.resetAndDestroy();
    }
  }

  /** From now on bytes are accepted and dropped silently, also on new connections. */
  swallow(): void {
    this.#isSwallowing = true;
    for (const pair of this.#pairs) this.#lose(pair);
  }

  /** New connections work again. Those that lost bytes stay silent. */
  heal(): void {
    this.#isSwallowing = false;
  }

  [Symbol.dispose](): void {
    this.reset();
    this.#server.close();
  }

  #accept(near: net.Socket): void {
    const far = net.connect({ port: this.target, host: "127.0.0.1", allowHalfOpen: true });
    const pair = { near, far };
    this.#pairs.add(pair);
    const isLost = () => this.#swallowed.has(pair);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on("data", (chunk) => {
        if (isLost()) return;
        if (from === far) this.passed += chunk.length;
        const isTaken = to.write(chunk);
        const ms = from === far ? (chunk.length / this.bytesPerSecond) * 1000 : 0;
        if (isTaken && ms === 0) return;
        from.pause();
        if (isTaken) setTimeout(() => from.resume(), ms);
        else to.once("drain", () => setTimeout(() => from.resume(), ms));
      });
      from.on("error", () => {});
      from.on("end", () => {
        if (!isLost()) to.end();
      });
      from.on("close", () => {
        this.#pairs.delete(pair);
        if (!isLost()) to.destroy();
      });
    }
    near.resume();
    if (this.#isSwallowing) this.#lose(pair);
  }

  #lose(pair: Pair): void {
    this.#swallowed.add(pair);
    this.#pairs.delete(pair);
    pair.near.resume();
    pair.far.resume();
  }
}
