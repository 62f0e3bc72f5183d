/** The `Content-Encoding` of bodies in both directions. */
import type { Transform } from "node:stream";
import {
  constants,
  createBrotliCompress,
  createBrotliDecompress,
  createDeflate,
  createGunzip,
  createGzip,
  createInflate,
  createZstdCompress,
  createZstdDecompress,
} from "node:zlib";
import { clickHouseException } from "../clickhouse/exception.ts";
import { Lz4FrameCompressor, Lz4FrameDecompressor } from "./lz4-frame.ts";

const chunkSize = 65_536;
const level = 3;

const encoders: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGzip({ level, chunkSize }),
  deflate: () => createDeflate({ level, chunkSize }),
  br: () => createBrotliCompress({ chunkSize, params: { [constants.BROTLI_PARAM_QUALITY]: level } }),
  zstd: () => createZstdCompress({ chunkSize, params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
  lz4: () => new Lz4FrameCompressor(),
};

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip({ chunkSize }),
  "x-gzip": () => createGunzip({ chunkSize }),
  deflate: () => createInflate({ chunkSize }),
  br: () => createBrotliDecompress({ chunkSize }),
  zstd: () => createZstdDecompress({ chunkSize }),
  lz4: () => new Lz4FrameDecompressor(),
};

export type Encoding = { readonly name: string; readonly create: () => Transform };

/** The first encoding of an `Accept-Encoding` header that we have, or undefined for plain bytes. */
export function chooseEncoding(acceptEncoding: string): Encoding | undefined {
  for (const item of acceptEncoding.toLowerCase().split(",")) {
    const [name = "", ...rest] = item.split(";").map((part) => part.trim());
    const create = Object.hasOwn(encoders, name) ? encoders[name] : undefined;
    if (create !== undefined && !rest.some((part) => /^q=0(\.0*)?$/.test(part))) return { name, create };
  }
  return undefined;
}

/** The decoder of a `Content-Encoding`, or undefined when the body is plain. */
export function decoderOf(contentEncoding: string): Transform | undefined {
  if (contentEncoding === "" || contentEncoding === "identity") return undefined;
  const create = Object.hasOwn(decoders, contentEncoding) ? decoders[contentEncoding] : undefined;
  if (create === undefined) {
    throw clickHouseException("NOT_IMPLEMENTED", `Unknown compression method '${contentEncoding}'`);
  }
  return create();
}
