/**
 * A TCP relay on loopback that can be cut for some of its clients, as a network is: bytes under way arrive when the cut
 * has ended, or never.
 */
import net from "node:net";
import { freePort } from "./free-port.ts";

/**
 * `silent`: nothing passes, nothing is accepted, and nobody is told; afterwards connections go on where they were.
 * `refused`: connections end with a reset, also new ones.
 */
export type CutKind = "silent" | "refused";

/** Tells the clients that are cut off by the ports of their connections. */
export type CutClients = () => Pick<ReadonlySet<number>, "has">;

export const everybody: CutClients = () => ({ has: () => true });

type Cut = { readonly kind: CutKind; readonly clients: CutClients };
type Pair = { readonly near: net.Socket; readonly port: number; far?: net.Socket; heldBy?: Cut };

export class Wire implements Disposable {
  readonly port: number;
  /** Port of the server for new connections. */
  target: number;
  readonly #server: net.Server;
  readonly #pairs = new Set<Pair>();
  readonly #cuts = new Set<Cut>();

  private constructor(port: number, target: number) {
    this.port = port;
    this.target = target;
    this.#server = net.createServer({ pauseOnConnect: true, allowHalfOpen: true }, (near) => this.#accept(near));
  }

  static async start(target = 0): Promise<Wire> {
    const wire = new Wire(await freePort(), target);
    await new Promise<void>((resolve) => wire.#server.listen(wire.port, "127.0.0.1", resolve));
    return wire;
  }

  /** Cuts these clients off until the returned function is called. */
  cut(kind: CutKind, clients: CutClients): () => void {
    const cut = { kind, clients };
    this.#cuts.add(cut);
    const ports = clients();
    for (const pair of this.#pairs) if (ports.has(pair.port)) this.#apply(cut, pair);
    return () => {
      this.#cuts.delete(cut);
      for (const pair of this.#pairs) if (pair.heldBy === cut) this.#resume(pair);
    };
  }

  [Symbol.dispose](): void {
    for (const pair of this.#pairs) reset(pair);
    this.#server.close();
  }

  #accept(near: net.Socket): void {
    const pair: Pair = { near, port: near.remotePort ?? 0 };
    this.#pairs.add(pair);
    this.#watch(pair, near);
    const cut = [...this.#cuts].find(({ clients }) => clients().has(pair.port));
    if (cut === undefined) this.#connect(pair);
    else this.#apply(cut, pair);
  }

  #apply(cut: Cut, pair: Pair): void {
    if (cut.kind === "refused") {
      reset(pair);
      return;
    }
    const { near, far } = pair;
    pair.heldBy = cut;
    if (far === undefined) return;
    near.unpipe(far);
    far.unpipe(near);
    for (const socket of [near, far]) socket.pause();
  }

  #resume(pair: Pair): void {
    const { near, far } = pair;
    delete pair.heldBy;
    if (near.destroyed || far?.destroyed === true) reset(pair);
    else if (far === undefined) this.#connect(pair);
    else join(near, far);
  }

  #connect(pair: Pair): void {
    const far = net.connect({ port: this.target, host: "127.0.0.1", allowHalfOpen: true });
    pair.far = far;
    this.#watch(pair, far);
    join(pair.near, far);
  }

  /** The end of one side is the end of the other, which hears of it when nothing is cut. */
  #watch(pair: Pair, socket: net.Socket): void {
    socket.on("error", () => {});
    socket.on("close", () => {
      if (pair.heldBy !== undefined) return;
      this.#pairs.delete(pair);
      pair.near.destroy();
      pair.far?.destroy();
    });
  }
}

function join(near: net.Socket, far: net.Socket): void {
  near.pipe(far);
  far.pipe(near);
}

function reset({ near, far }: Pair): void {
  near.resetAndDestroy();
  far?.resetAndDestroy();
}
