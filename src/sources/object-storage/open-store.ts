/** The store of a location. Its client library is loaded only when it is needed. */
import type { ObjectStorageConfig } from "./kind.ts";
import type { Location } from "./location.ts";
import type { ObjectStore } from "./store.ts";

export async function openStore(config: ObjectStorageConfig, location: Location): Promise<ObjectStore> {
  if (location.kind === "azure") return (await import("./azure-store.ts")).openAzureStore(config, location);
  return (await import("./s3-store.ts")).openS3Store(config, location);
}
