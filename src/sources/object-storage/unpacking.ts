/**
 * Lets the engine read what it cannot decompress: a small S3 server in this process, on loopback, that answers with the
 * decompressed bytes of the store's objects. To the engine they are objects like all others: path, version and time are
 * the store's own, so mappings, bad rows and exactly-once need no rules of their own. Nothing is held but what is being
 * decompressed.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createServer } from "../../lib/node-http.ts";
import type { NetworkContext } from "../source.ts";
import { Bzip2Error, decompressBzip2 } from "./bzip2.ts";
import { enginePattern } from "./keys.ts";
import type { ObjectFile, ObjectStore, ReadCall } from "./store.ts";

/** The length is unknown before the end: any larger one will do, because the engine reads until the answer ends. */
const anyLength = 2 ** 40;
/** The pipe runner knows it in the engine's message: this object will never load. */
const damagedStatus = 422;
/** Versions that were asked for, and the problems of objects, are remembered for this many keys. */
const maxRemembered = 1_000;

export class Unpacking {
  readonly #store: ObjectStore;
  readonly #network: NetworkContext;
  /** Only who knows it may read: it is the access key of the engine's requests. */
  readonly #token = randomBytes(24).toString("hex");
  readonly #versions = new Map<string, string>();
  readonly #problems = new Map<string, { readonly etag: string; readonly message: string }>();
  readonly #stop = new AbortController();
  #server: Promise<Server> | undefined;

  constructor(store: ObjectStore, network: NetworkContext) {
    this.#store = store;
    this.#network = network;
  }

  /** How the engine reads the decompressed bytes of these keys. */
  async reader(keys: readonly string[]): Promise<ReadCall> {
    this.#server ??= this.#listen();
    const { port } = (await this.#server).address() as AddressInfo;
    const path = enginePattern(keys, encodeURIComponent);
    const params = {
      object_url: `http://127.0.0.1:${port}/${encodeURIComponent(this.#bucket)}/${path}`,
      access_key: this.#token,
      secret_key: this.#token,
    };
    const head = "s3({object_url:String}, {access_key:String}, {secret_key:String}, ";
    return { head, order: "structure, compression", params };
  }

  /** What is wrong with this version of the object, once it was found that it cannot be decompressed. */
  problemOf({ key, etag }: ObjectFile): string | undefined {
    const problem = this.#problems.get(key);
    return problem?.etag === etag ? problem.message : undefined;
  }

  close(): void {
    this.#stop.abort();
    this.#server?.then((server) => {
      server.close();
      server.closeAllConnections();
    });
  }

  get #bucket(): string {
    return this.#store.pathOf("").slice(0, -1);
  }

  async #listen(): Promise<Server> {
    const server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await this.#network.permitEngine({ kind: "worker", host: "127.0.0.1", port });
    return server;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!this.#isAllowed(request)) return end(response, 403);
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    const [, bucket = "", ...rest] = url.pathname.split("/");
    if (decodeURIComponent(bucket) !== this.#bucket) return end(response, 404);
    const key = decodeURIComponent(rest.join("/"));
    try {
      if (key === "") return await this.#list(url.searchParams, response);
      if (request.method === "HEAD") return await this.#head(key, response);
      return await this.#get(key, request, response);
    } catch {
      if (response.headersSent) response.destroy();
      else end(response, 503);
    }
  }

  #isAllowed(request: IncomingMessage): boolean {
    const given = /Credential=([0-9a-f]+)\//.exec(request.headers.authorization ?? "")?.[1] ?? "";
    return given.length === this.#token.length && timingSafeEqual(Buffer.from(given), Buffer.from(this.#token));
  }

  /** For keys with characters that the engine takes for wildcards. */
  async #list(query: URLSearchParams, response: ServerResponse): Promise<void> {
    const after = query.get("continuation-token") ?? undefined;
    const page = await this.#store.list(query.get("prefix") ?? "", after, this.#stop.signal);
    const contents = page.files.map(({ key, etag }) => {
      const version = `<ETag>"${xml(etag)}"</ETag><Size>${anyLength}</Size>`;
      return `<Contents><Key>${xml(key)}</Key>${version}<LastModified>2000-01-01T00:00:00.000Z</LastModified></Contents>`;
    });
    const next = page.more ? `<NextContinuationToken>${xml(page.last ?? "")}</NextContinuationToken>` : "";
    response.setHeader("Content-Type", "application/xml");
    response.end(
      `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><IsTruncated>${page.more}</IsTruncated>${next}${contents.join("")}</ListBucketResult>`,
    );
  }

  async #head(key: string, response: ServerResponse): Promise<void> {
    const { etag, modified } = await this.#store.head(key, this.#stop.signal);
    remember(this.#versions, key, etag);
    if (this.#problems.get(key)?.etag === etag) return end(response, damagedStatus);
    describe(response, etag, modified);
    response.setHeader("Content-Length", anyLength);
    response.end();
  }

  /** The version that the engine was told of, from the byte that it asks for to the end. */
  async #get(key: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const start = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
    const { etag, modified, body } = await this.#store.download(key, this.#versions.get(key), this.#stop.signal);
    try {
      if (this.#problems.get(key)?.etag === etag) return end(response, damagedStatus);
      const blocks = from(decompressBzip2(body), start);
      // The first block before the answer begins: an object that is no bzip2 at all is then no answer that breaks off.
      const first = await blocks.next();
      describe(response, etag, modified);
      if (request.headers.range !== undefined) {
        response.statusCode = 206;
        response.setHeader("Content-Range", `bytes ${start}-${anyLength - 1}/${anyLength}`);
      }
      if (first.done !== true) response.write(first.value);
      await pipeline(Readable.from(blocks, { objectMode: false }), response);
    } catch (error) {
      if (!(error instanceof Bzip2Error)) throw error;
      remember(this.#problems, key, { etag, message: error.message });
      if (response.headersSent) response.destroy();
      else end(response, damagedStatus);
    } finally {
      body.destroy();
    }
  }
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
