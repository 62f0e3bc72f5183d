/** The location of objects, parsed from the URL (or the Azure members) of a pipe. */
import type { ObjectStorageConfig } from "../declaration/kind.ts";
import { invalidMember } from "./store-error.ts";

export type S3Location = {
  readonly store: "s3";
  /** Origin that requests go to, without the bucket. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** True when the bucket is part of the path and not of the host name. */
  readonly pathStyle: boolean;
  /** Key pattern, not percent-encoded. */
  readonly pattern: string;
};

export type AzureLocation = { readonly store: "azure"; readonly container: string; readonly pattern: string };

export function locationOf(config: ObjectStorageConfig): S3Location | AzureLocation {
  if (config.azureContainerName !== undefined) {
    return { store: "azure", container: config.azureContainerName, pattern: config.path ?? "" };
  }
  return parseUrl(config.url ?? "");
}

/** The key is taken literally: no percent-decoding, and `?` is a wildcard, never the start of a query. */
export function parseUrl(url: string): S3Location {
  const match = /^(https?|s3|gs):\/\/([^/\s]+)(?:\/(.*))?$/is.exec(url);
  if (!match) throw invalidMember("url", "The url is not an http(s)://, s3:// or gs:// address.");
  const [, scheme = "", host = "", rest = ""] = match;
  if (scheme.toLowerCase() === "s3") return aws(host, "us-east-1", rest);
  if (scheme.toLowerCase() === "gs") return pathStyle("https://storage.googleapis.com", "auto", `${host}/${rest}`);
  if (host.includes("@")) throw invalidMember("url", "The url must not hold credentials; use accessKey.");
  const virtual = virtualHost(host);
  if (virtual === undefined) return pathStyle(`${scheme}://${host}`, regionOf(host), rest);
  const endpoint = `${scheme}://${virtual.endpoint}`;
  if (virtual.asPath) return pathStyle(endpoint, regionOf(host), `${virtual.bucket}/${rest}`);
  return { store: "s3", endpoint, region: regionOf(host), bucket: virtual.bucket, pathStyle: false, pattern: rest };
}

function aws(bucket: string, region: string, pattern: string): S3Location {
  // A dot in the bucket's name does not match the certificate of the virtual host.
  const endpoint = `https://s3.${region}.amazonaws.com`;
  return { store: "s3", endpoint, region, bucket, pathStyle: bucket.includes("."), pattern };
}

function pathStyle(endpoint: string, region: string, path: string): S3Location {
  const [bucket = ""] = path.split("/", 1);
  if (bucket === "") throw invalidMember("url", "The url names no bucket.");
  return { store: "s3", endpoint, region, bucket, pathStyle: true, pattern: path.slice(bucket.length + 1) };
}

/** `asPath`: stores that serve both styles, and whose virtual hosts the engine does not recognise. */
function virtualHost(host: string): { bucket: string; endpoint: string; asPath: boolean } | undefined {
  const s3 = /^(.+)\.(s3[.-].+)$/i.exec(host);
  if (s3) return { bucket: s3[1] as string, endpoint: s3[2] as string, asPath: false };
  const known = /^(.+)\.(storage\.googleapis\.com|[a-z0-9-]+\.digitaloceanspaces\.com)$/i.exec(host);
  return known ? { bucket: known[1] as string, endpoint: known[2] as string, asPath: true } : undefined;
}

/** The bucket as notifications name it. Undefined for Azure, and where the URL has another name for the bucket. */
export function notifiedBucket(location: S3Location | AzureLocation): string | undefined {
  if (location.store !== "s3" || location.endpoint.includes("s3-accesspoint")) return undefined;
  return /-s3alias$|--ol-s3$/.test(location.bucket) ? undefined : location.bucket;
}

function regionOf(host: string): string {
  const region = /(?:^|\.)s3[.-](?:dualstack\.)?([a-z]{2}(?:-[a-z]+)+-\d)\.amazonaws\.com/i.exec(host);
  if (region) return region[1] as string;
  const spaces = /(?:^|\.)([a-z0-9]+)\.digitaloceanspaces\.com$/i.exec(host);
  if (spaces) return spaces[1] as string;
  const ovh = /(?:^|\.)s3\.([a-z0-9-]+)\.[a-z]*\.?cloud\.ovh\.net$/i.exec(host);
  return ovh ? (ovh[1] as string) : "us-east-1";
}

/** A URL of the engine's `s3()` for a key or an engine pattern, percent-encoded except for the wildcards. */
export function engineUrl(location: S3Location, encodedKey: string): string {
  if (location.pathStyle) return `${location.endpoint}/${encodeURIComponent(location.bucket)}/${encodedKey}`;
  return `${location.endpoint.replace("://", `://${location.bucket}.`)}/${encodedKey}`;
}
