/** Folders of the backup bucket, as the server of an external service, or one in Kubernetes, reaches them. */
import { literal } from "../../clickhouse/sql.ts";
import type { BackupLocation } from "../../store/backups/backups.ts";
import type { EngineFolder } from "../engine-backup.ts";
import type { S3Keys } from "../storage/s3-storage.ts";

/** The named collection of a server that has keys of its own. */
export const collectionName = "millrace_backups";

export type Bucket = BackupLocation & { readonly kind: "s3" };

/** Keys that the server receives with the statement, or its own named collection. */
export type ServerAccess = { readonly kind: "collection" } | { readonly kind: "keys"; readonly keys: S3Keys };

/** The URL of the location: what the `url` of the named collection must be. Ends without `/`. */
export function bucketUrl({ bucket, prefix, endpoint, region }: Bucket): string {
  const base =
    endpoint === undefined
      ? `https://${bucket}.s3.${region}.amazonaws.com`
      : `${endpoint.replace(/\/+$/, "")}/${bucket}`;
  return `${base}/${prefix}`.replace(/\/+$/, "");
}

/**
 * A folder of the location; `key` ends in `/`. The server's log shows the secret key of the function as `[HIDDEN]`, and
 * a named collection by its name.
 */
export function bucketFolder(location: Bucket, access: ServerAccess, key: string): EngineFolder {
  const folder = key.replace(/\/+$/, "");
  if (access.kind === "collection") {
    return { sql: `S3(${collectionName}, ${literal(folder)})`, isDistant: true };
  }
  const { accessKeyId, secretAccessKey } = access.keys;
  const parts = [`${bucketUrl(location)}/${folder}`, accessKeyId, secretAccessKey];
  return { sql: `S3(${parts.map(literal).join(", ")})`, isDistant: true };
}
