/** The object storage connector: checks a configuration and opens a source. */
import { AppError } from "../../lib/errors.ts";
import type { CheckOptions, Connector, SourceContext } from "../source.ts";
import { conflictingFields } from "./fields.ts";
import { inferFormat } from "./formats.ts";
import { keyPattern } from "./glob.ts";
import type { ObjectStorageConfig } from "./kind.ts";
import { locationOf } from "./location.ts";
import { S3Store } from "./s3.ts";
import { checkSample } from "./samples.ts";
import { ObjectSource } from "./source.ts";
import type { ObjectStore } from "./store.ts";

export const connector: Connector<ObjectStorageConfig> = {
  async check(config: ObjectStorageConfig, options: CheckOptions, signal: AbortSignal): Promise<void> {
    const { store, pattern } = await openStore(config);
    try {
      const keys = keyPattern(pattern);
      const page = await store.list(keys.prefix, undefined, signal);
      const first = page.files.find((file) => file.size > 0 && keys.matches(file.key));
      if (keys.exact && first === undefined) {
        throw new AppError("SOURCE_INVALID", `The object "${pattern}" does not exist.`);
      }
      const format = config.format ?? inferFormat(first?.key ?? pattern);
      if (format === undefined) {
        throw new AppError(
          "SOURCE_INVALID",
          "The format cannot be told from the url; set source.objectStorage.format.",
        );
      }
      const [conflict] = conflictingFields(options.destination.columns, format);
      if (conflict !== undefined) {
        const message = `The field "${conflict}" is mapped as a value and as the parent of another field.`;
        throw new AppError("SOURCE_INVALID", message);
      }
      if (options.validateSamples) await checkSample(first, format, store, config, options, signal);
    } finally {
      store.close();
    }
  },

  async open(config: ObjectStorageConfig, context: SourceContext) {
    const { store, pattern } = await openStore(config);
    return new ObjectSource({ config, context, store, pattern });
  },
};

async function openStore(config: ObjectStorageConfig): Promise<{ store: ObjectStore; pattern: string }> {
  const location = locationOf(config);
  if (location.store === "s3") return { store: new S3Store(location, config), pattern: location.pattern };
  throw new AppError("SOURCE_INVALID", "Azure Blob Storage is not supported.");
}
