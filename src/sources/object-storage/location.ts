/** Where the objects are: an address of a bucket with a pattern for keys, in any of the usual spellings. */
import { type Access, accessOf } from "./aws.ts";
import type { ObjectStorageConfig } from "./kind.ts";

export type S3Location = {
  readonly kind: "s3";
  /** Base address of the store, without bucket. Undefined: Amazon's own for the region. */
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
  readonly access: Access;
};

export type AzureLocation = {
  readonly kind: "azure";
  readonly container: string;
  readonly pattern: string;
  readonly prefix: string;
};

export type Location = S3Location | AzureLocation;

const amazon = /^(?:(.+)\.)?s3[.-](?:dualstack\.)?(?:([a-z0-9-]+)\.)?amazonaws\.com(?:\.cn)?$/i;

/** Hosts of other stores that carry the bucket as their first label: `bucket.s3.region.example.com` and alike. */
const virtualHosts = [
  /^(.+?)\.((?:s3|cos|obs|oss|eos)[.-][a-z0-9.-]+)$/i,
  /^(.+?)\.((?:[a-z0-9-]+)\.digitaloceanspaces\.com)$/i,
  /^(.+?)\.(storage\.googleapis\.com)$/i,
];

/** Throws a TypeError when the url names no bucket; `rules` in kind.ts has checked its form before. */
export function parseLocation(config: ObjectStorageConfig): Location {
  if (config.azureContainerName !== undefined) {
    const pattern = (config.path ?? "").replace(/^\//, "");
    return { kind: "azure", container: config.azureContainerName, pattern, prefix: prefixOf(pattern) };
  }
  const [, scheme = "", authority = "", rest = ""] = /^([a-z0-9]+):\/\/([^/]+)\/?(.*)$/is.exec(config.url ?? "") ?? [];
  return { ...parseAddress(scheme.toLowerCase(), authority, rest), access: accessOf(config) };
}

type Address = Omit<S3Location, "access">;

function parseAddress(scheme: string, authority: string, rest: string): Address {
  if (scheme === "s3") return onAmazon(authority, "us-east-1", rest);
  if (scheme === "gs") return atEndpoint("https://storage.googleapis.com", "auto", authority, rest);
  const [host = "", port] = authority.split(":");
  const [matched, bucket, region] = amazon.exec(host) ?? [];
  if (matched !== undefined && bucket !== undefined) return onAmazon(bucket, region ?? "us-east-1", rest);
  for (const pattern of matched === undefined ? virtualHosts : []) {
    const [, name, store] = pattern.exec(host) ?? [];
    if (name === undefined || store === undefined) continue;
    const endpoint = `${scheme}://${store}${port === undefined ? "" : `:${port}`}`;
    return atEndpoint(endpoint, regionOf(store), name, rest);
  }
  const [first = "", ...keys] = rest.split("/");
  return atEndpoint(`${scheme}://${authority}`, region ?? regionOf(host), first, keys.join("/"));
}

/** The region in a store's host name, where it has its usual place. */
function regionOf(host: string): string {
  if (/googleapis\.com$|cloudflarestorage\.com$/i.test(host)) return "auto";
  return (
    /^(?:s3\.)?([a-z]{2,}[a-z0-9-]*?)\.(?:io\.cloud\.ovh|cloud\.ovh|digitaloceanspaces)\./i.exec(host)?.[1] ??
    "us-east-1"
  );
}

function onAmazon(bucket: string, region: string, pattern: string): Address {
  // Certificates cover one label: buckets with a dot in their name are addressed by path.
  if (bucket.includes(".")) return atEndpoint(`https://s3.${region}.amazonaws.com`, region, bucket, pattern);
  const bucketUrl = `https://${bucket}.s3.${region}.amazonaws.com/`;
  const place = { kind: "s3", endpoint: undefined, region, bucket } as const;
  return { ...place, pattern, prefix: prefixOf(pattern), pathStyle: false, bucketUrl };
}

function atEndpoint(endpoint: string, region: string, bucket: string, pattern: string): Address {
  if (bucket === "") throw new TypeError("the url names no bucket");
  const place = { kind: "s3", endpoint, region, bucket, pattern, prefix: prefixOf(pattern) } as const;
  return { ...place, pathStyle: true, bucketUrl: `${endpoint}/${bucket}/` };
}

/** How an object is named in messages and marks. */
export function nameOf(location: Location, key: string): string {
  return `${location.kind === "s3" ? location.bucket : location.container}/${key}`;
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
