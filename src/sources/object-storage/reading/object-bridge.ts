/**
 * Serves a store's objects to the engine: a small S3 server in this process, on loopback. It has three uses.
 * `unpacked` objects are decompressed by the bridge, because the engine's build cannot do it. `whole` ones pass
 * unchanged, and fail where they break off, which the engine would not notice. `plain` ones belong to a store whose
 * client in the engine bypasses the proxy of outgoing connections. To the engine they are ordinary objects: path,
 * version and time are the store's own, so mappings, bad rows and exactly-once need no special rules. The bridge holds
 * only bytes in transit.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createServer } from "../../../lib/node-http.ts";
import type { NetworkContext } from "../../contract/source.ts";
import { enginePattern } from "../stores/keys.ts";
import type { ByteRange, ObjectFile, ObjectStore, ReadCall } from "../stores/store.ts";
import { Bzip2Error, decompressBzip2 } from "./bzip2.ts";
import { BrokenFrameError, wholeFrames } from "./frames.ts";

/** The length is unknown until the end: any larger one works, because the engine reads to the end of the response. */
const anyLength = 2 ** 40;
/** The pipe runner recognises it in the engine's message: this object will never load. */
const damagedStatus = 422;
/** Requested versions, and the errors of objects, are kept for this many keys. */
const maxRemembered = 1_000;

const bridgeModes = ["unpacked", "whole", "plain"] as const;
export type BridgeMode = (typeof bridgeModes)[number];

export class ObjectBridge {
  readonly #store: ObjectStore;
  readonly #network: NetworkContext;
  /** A reader must know one: it is the access key of the engine's requests, and selects the mode. */
  readonly #tokens = { unpacked: newToken(), whole: newToken(), plain: newToken() };
  readonly #versions = new Map<string, string>();
  readonly #problems = new Map<string, { readonly etag: string; readonly message: string }>();
  readonly #stop = new AbortController();
  readonly #sockets = new Set<Socket>();
  #listener: Promise<Server> | undefined;

  constructor(store: ObjectStore, network: NetworkContext) {
    this.#store = store;
    this.#network = network;
  }

  /** How the engine reads these keys; `listed` as in `enginePattern`. Throws as `listenForEngine`. */
  async reader(keys: readonly string[], mode: BridgeMode, listed?: string): Promise<ReadCall> {
    // A server that reads such objects by itself must not depend on whether it reaches the bridge.
    this.#listener ??= this.#listen(mode === "whole").catch((error: unknown) => {
      this.#listener = undefined;
      throw error;
    });
    const { port } = (await this.#listener).address() as AddressInfo;
    const path = enginePattern(keys, encodeURIComponent, listed);
    const params = {
      object_url: `http://127.0.0.1:${port}/${encodeURIComponent(this.#bucket)}/${path}`,
      access_key: this.#tokens[mode],
      secret_key: this.#tokens[mode],
    };
    return { head: "s3({object_url:String}, {access_key:String}, {secret_key:String}, ", params };
  }

  /** The error of this version of the object, once decompression has failed. */
  problemOf({ key, etag }: ObjectFile): string | undefined {
    const problem = this.#problems.get(key);
    return problem?.etag === etag ? problem.message : undefined;
  }

  close(): void {
    this.#stop.abort();
    this.#listener?.then((listener) => listener.close()).catch(() => {});
    for (const socket of this.#sockets) socket.destroy();
  }

  get #bucket(): string {
    return this.#store.pathOf("").slice(0, -1);
  }

  async #listen(isSure: boolean): Promise<Server> {
    const server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
    const listener = await this.#network.listenForEngine(isSure);
    listener.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
      server.emit("connection", socket);
    });
    if (this.#stop.signal.aborted) listener.close();
    return listener;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const mode = this.#modeOf(request);
    if (mode === undefined) return end(response, 403);
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    const [, bucket = "", ...rest] = url.pathname.split("/");
    if (decodeURIComponent(bucket) !== this.#bucket) return end(response, 404);
    const key = decodeURIComponent(rest.join("/"));
    try {
      if (key === "") return await this.#list(url.searchParams, mode, response);
      if (request.method === "HEAD") return await this.#head(key, mode, response);
      const range = rangeOf(request);
      return await (mode === "plain" ? this.#get(key, range, response) : this.#getChecked(key, mode, range, response));
    } catch (error) {
      if (response.headersSent) response.destroy();
      else end(response, isMissing(error) ? 404 : 503);
    }
  }

  #modeOf(request: IncomingMessage): BridgeMode | undefined {
    const given = /Credential=([0-9a-f]+)\//.exec(request.headers.authorization ?? "")?.[1] ?? "";
    const isToken = (token: string) =>
      given.length === token.length && timingSafeEqual(Buffer.from(given), Buffer.from(token));
    return bridgeModes.find((mode) => isToken(this.#tokens[mode]));
  }

  /** Serves keys with characters that the engine treats as wildcards. */
  async #list(query: URLSearchParams, mode: BridgeMode, response: ServerResponse): Promise<void> {
    const after = query.get("continuation-token") ?? undefined;
    const page = await this.#store.list(query.get("prefix") ?? "", after, this.#stop.signal);
    const contents = page.files.map(({ key, etag, size }) => {
      const version = `<ETag>"${xml(etag)}"</ETag><Size>${lengthIn(mode, size)}</Size>`;
      return `<Contents><Key>${xml(key)}</Key>${version}<LastModified>2000-01-01T00:00:00.000Z</LastModified></Contents>`;
    });
    const next = page.more ? `<NextContinuationToken>${xml(page.last ?? "")}</NextContinuationToken>` : "";
    response.setHeader("Content-Type", "application/xml");
    response.end(
      `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><IsTruncated>${page.more}</IsTruncated>${next}${contents.join("")}</ListBucketResult>`,
    );
  }

  async #head(key: string, mode: BridgeMode, response: ServerResponse): Promise<void> {
    const { etag, modified, size } = await this.#store.head(key, this.#stop.signal);
    remember(this.#versions, key, etag);
    if (mode !== "plain" && this.#problems.get(key)?.etag === etag) return end(response, damagedStatus);
    describe(response, etag, modified);
    response.setHeader("Content-Length", lengthIn(mode, size));
    response.end();
  }

  /** The version that the engine was given, or the part of it that it requests. */
  async #get(key: string, range: ByteRange | undefined, response: ServerResponse): Promise<void> {
    const version = this.#versions.get(key);
    const { etag, modified, size, body } = await this.#store.download(key, version, this.#stop.signal, range);
    try {
      describe(response, etag, modified);
      const { start, end: last = size - 1 } = range ?? { start: 0 };
      const until = Math.min(last, size - 1);
      response.setHeader("Content-Length", until - start + 1);
      if (range !== undefined) {
        response.statusCode = 206;
        response.setHeader("Content-Range", `bytes ${start}-${until}/${size}`);
      }
      await pipeline(body, response);
    } finally {
      body.destroy();
    }
  }

  /** The version that the engine was given, from the requested byte to the end. */
  async #getChecked(
    key: string,
    mode: BridgeMode,
    range: ByteRange | undefined,
    response: ServerResponse,
  ): Promise<void> {
    const start = range?.start ?? 0;
    const { etag, modified, size, body } = await this.#store.download(key, this.#versions.get(key), this.#stop.signal);
    const length = lengthIn(mode, size);
    try {
      if (this.#problems.get(key)?.etag === etag) return end(response, damagedStatus);
      const blocks = from(mode === "unpacked" ? decompressBzip2(body) : wholeFrames(body), start);
      // The first block before the response begins: an object that is not bzip2 then causes an error status, not a
      // truncated response.
      const first = await blocks.next();
      describe(response, etag, modified);
      if (mode === "whole") response.setHeader("Content-Length", size - start);
      if (range !== undefined) {
        response.statusCode = 206;
        response.setHeader("Content-Range", `bytes ${start}-${length - 1}/${length}`);
      }
      if (first.done !== true) response.write(first.value);
      await pipeline(Readable.from(blocks, { objectMode: false }), response);
    } catch (error) {
      if (!(error instanceof Bzip2Error || error instanceof BrokenFrameError)) throw error;
      remember(this.#problems, key, { etag, message: error.message });
      if (response.headersSent) response.destroy();
      else end(response, damagedStatus);
    } finally {
      body.destroy();
    }
  }
}

function newToken(): string {
  return randomBytes(24).toString("hex");
}

function rangeOf(request: IncomingMessage): ByteRange | undefined {
  const [, start, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
  if (start === undefined) return undefined;
  return { start: Number(start), ...(last === undefined || last === "" ? {} : { end: Number(last) }) };
}

function isMissing(error: unknown): boolean {
  const { statusCode, $metadata } = error as { statusCode?: number; $metadata?: { httpStatusCode?: number } };
  return (statusCode ?? $metadata?.httpStatusCode) === 404;
}

/** Without the first bytes. */
async function* from(blocks: AsyncIterable<Buffer>, start: number): AsyncGenerator<Buffer> {
  let skip = start;
  for await (const block of blocks) {
    const dropped = Math.min(skip, block.length);
    skip -= dropped;
    if (dropped < block.length) yield block.subarray(dropped);
  }
}

function describe(response: ServerResponse, etag: string, modified: Date): void {
  response.setHeader("ETag", `"${etag}"`);
  response.setHeader("Last-Modified", modified.toUTCString());
  response.setHeader("Accept-Ranges", "bytes");
}

function lengthIn(mode: BridgeMode, size: number): number {
  return mode === "unpacked" ? anyLength : size;
}

function end(response: ServerResponse, status: number): void {
  response.statusCode = status;
  response.end();
}

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= maxRemembered) return;
    map.delete(oldest);
  }
}

function xml(text: string): string {
  return text.replaceAll(/[&<>"'\p{Cc}]/gu, (character) => `&#${character.charCodeAt(0)};`);
}
