/** Where the objects are: an address of a bucket with a pattern for keys, in any of the usual spellings. */
import type { ObjectStorageConfig } from "./kind.ts";

export type Location = {
  /** Base address of the store, without bucket. Undefined: the provider's own for the region. */
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly bucket: string;
  /** Key pattern with `?`, `*`, `**`. */
  readonly pattern: string;
  /** The part of the pattern before its first wildcard: what is listed. */
  readonly prefix: string;
  readonly pathStyle: boolean;
  /** Address of the bucket for the engine, ending in `/`. */
  readonly bucketUrl: string;
};

const amazon = /^(?:([a-z0-9.-]+)\.)?s3[.-](?:dualstack\.)?(?:([a-z0-9-]+)\.)?amazonaws\.com$/i;

/** Throws a TypeError when the url names no bucket; `rules` in kind.ts has checked its form before. */
export function parseLocation(config: Pick<ObjectStorageConfig, "url">): Location {
  const url = config.url ?? "";
  const [, scheme = "", authority = "", rest = ""] = /^([a-z0-9]+):\/\/([^/]+)\/?(.*)$/is.exec(url) ?? [];
  if (scheme.toLowerCase() === "s3") return onAmazon(authority, "us-east-1", rest);
  if (scheme.toLowerCase() === "gs") return pathStyle("https://storage.googleapis.com", "auto", `${authority}/${rest}`);
  const [host = ""] = authority.split(":");
  const [matched, bucket, region] = amazon.exec(host) ?? [];
  if (matched !== undefined && bucket !== undefined) return onAmazon(bucket, region ?? "us-east-1", rest);
  const google = /^(.+)\.storage\.googleapis\.com$/i.exec(host);
  if (google?.[1] !== undefined) return pathStyle("https://storage.googleapis.com", "auto", `${google[1]}/${rest}`);
  return pathStyle(`${scheme}://${authority}`, region ?? "us-east-1", rest);
}

function onAmazon(bucket: string, region: string, pattern: string): Location {
  const bucketUrl = `https://${bucket}.s3.${region}.amazonaws.com/`;
  return { endpoint: undefined, region, bucket, pattern, prefix: prefixOf(pattern), pathStyle: false, bucketUrl };
}

function pathStyle(endpoint: string, region: string, path: string): Location {
  const [bucket = "", ...keys] = path.split("/");
  if (bucket === "") throw new TypeError("the url names no bucket");
  const pattern = keys.join("/");
  const bucketUrl = `${endpoint}/${bucket}/`;
  return { endpoint, region, bucket, pattern, prefix: prefixOf(pattern), pathStyle: true, bucketUrl };
}

function prefixOf(pattern: string): string {
  const wildcard = pattern.search(/[?*]/);
  return wildcard < 0 ? pattern : pattern.slice(0, wildcard);
}

/** `?` is one character, `*` any number, both within a path segment; `**` crosses segments. Case-sensitive. */
export function matcherOf(pattern: string): (key: string) => boolean {
  const source = pattern
    .split(/(\*\*|\*|\?)/)
    .map((part) => {
      if (part === "**") return ".*";
      if (part === "*") return "[^/]*";
      return part === "?" ? "[^/]" : part.replaceAll(/[.+^${}()|[\]\\/-]/g, String.raw`\$&`);
    })
    .join("");
  const expression = new RegExp(`^${source}$`, "su");
  return (key) => expression.test(key);
}
