/** The bytes of a request: as they arrive, and decompressed. */
import type { IncomingMessage } from "node:http";
import type { Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";
import { drained } from "../../lib/drained.ts";
import { AppError } from "../../lib/errors.ts";

/** Bodies up to this length are read without a stream. */
const smallBytes = 262_144;

const decompressions: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

type Bytes = AsyncIterable<Buffer> | Iterable<Buffer>;

/** `seen` gets every piece as it arrives. Throws UNSUPPORTED_MEDIA_TYPE for an encoding that is not known. */
export function requestBytes(request: IncomingMessage, seen: (piece: Buffer) => void): Bytes | Promise<Bytes> {
  const encoding = String(request.headers["content-encoding"] ?? "identity")
    .trim()
    .toLowerCase();
  const isSmall = Number(request.headers["content-length"] ?? Number.NaN) <= smallBytes;
  if (encoding === "identity" || encoding === "") return isSmall ? whole(request, seen) : arriving(request, seen);
  return decompressed(arriving(request, seen), encoding);
}

/** Throws UNSUPPORTED_MEDIA_TYPE for an encoding that is not known. */
export function decompressed(from: AsyncGenerator<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  const decompression = Object.hasOwn(decompressions, encoding) ? decompressions[encoding] : undefined;
  if (decompression === undefined) {
    const known = Object.keys(decompressions).join(", ");
    throw new AppError("UNSUPPORTED_MEDIA_TYPE", `The Content-Encoding ${encoding} is not one of ${known}.`);
  }
  return through(from, decompression(), encoding);
}

function whole(request: IncomingMessage, seen: (piece: Buffer) => void): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => {
      seen(piece);
      pieces.push(piece);
    });
    request.on("end", () => resolve(pieces));
    request.on("error", () => reject(brokenOff()));
    request.on("close", () => {
      if (!request.complete) reject(brokenOff());
    });
  });
}

async function* arriving(request: IncomingMessage, seen: (piece: Buffer) => void): AsyncGenerator<Buffer> {
  try {
    // The connection stays: the sender is told why the rest is not read.
    for await (const piece of request.iterator({ destroyOnReturn: false })) {
      seen(piece as Buffer);
      yield piece as Buffer;
    }
  } catch (cause) {
    throw brokenOff(cause);
  } finally {
    // The rest of a refused body would hold up the next request of the connection.
    request.resume();
  }
  if (!request.complete) throw brokenOff();
}

async function* through(from: AsyncGenerator<Buffer>, transform: Transform, encoding: string): AsyncGenerator<Buffer> {
  let failure: unknown;
  const feeding = (async () => {
    for await (const piece of from) {
      if (!transform.write(piece)) await drained(transform);
      if (transform.destroyed) return;
    }
    transform.end();
  })().catch((error: unknown) => {
    failure = error;
    transform.destroy();
  });
  try {
    for await (const piece of transform) yield piece as Buffer;
  } catch (cause) {
    if (failure !== undefined) throw failure;
    throw new AppError("BAD_REQUEST", `The body cannot be decompressed as ${encoding}.`, { cause });
  } finally {
    // Not waited for: the sender may rest, and is to be told meanwhile why its body is refused.
    transform.destroy();
  }
  await feeding;
  if (failure !== undefined) throw failure;
}

function brokenOff(cause?: unknown): AppError {
  return new AppError("BAD_REQUEST", "The request broke off before the end of its body.", { cause });
}
