/** Cuts listed objects into loads: many small objects together, a large one or one with an odd key alone. */
import type { SourceContext } from "../source.ts";
import { formatOf, type ObjectFormat } from "./format.ts";
import type { ObjectStorageConfig } from "./kind.ts";
import { isPlainKey, type Load } from "./load.ts";
import type { Location } from "./location.ts";
import { groupBytes, loadSettings } from "./settings.ts";
import type { StoredObject } from "./store.ts";

type Grouping = {
  readonly config: ObjectStorageConfig;
  readonly location: Location;
  readonly context: Pick<SourceContext, "settings" | "destination">;
};

/** Objects whose format is not known are left out: the caller has taken care of them. */
export function* loadsOf(objects: readonly StoredObject[], grouping: Grouping): Generator<Load> {
  const { settings } = grouping.context;
  const maxFiles = Number(settings.object_storage_max_file_count ?? 100);
  const maxBytes = Math.min(groupBytes, Number(settings.object_storage_max_insert_bytes ?? groupBytes));
  let group: StoredObject[] = [];
  let format: ObjectFormat | undefined;
  let bytes = 0;
  for (const object of objects) {
    const own = formatOf(grouping.config, object.key);
    if (own === undefined) continue;
    const alone = object.size >= maxBytes || !isPlainKey(object.key);
    const full = group.length >= maxFiles || bytes + object.size > maxBytes;
    if (format !== undefined && (alone || full || own !== format)) {
      yield loadOf(group, format, grouping);
      [group, bytes] = [[], 0];
    }
    group.push(object);
    bytes += object.size;
    format = own;
    if (alone) {
      yield loadOf(group, own, grouping);
      [group, bytes, format] = [[], 0, undefined];
    }
  }
  if (format !== undefined) yield loadOf(group, format, grouping);
}

export function loadOf(objects: readonly StoredObject[], format: ObjectFormat, grouping: Grouping): Load {
  const { config, location, context } = grouping;
  const bytes = objects.reduce((sum, object) => sum + object.size, 0);
  return {
    objects,
    location,
    format,
    compression: compressionNames[config.compression ?? "auto"] ?? "auto",
    columns: context.destination.columns,
    settings: loadSettings(context.settings, { grouped: bytes <= groupBytes, delimiter: config.delimiter }),
  };
}

/** The engine knows every method by the name of its file suffix; what it takes besides differs by version. */
const compressionNames: Readonly<Record<string, string>> = {
  none: "none",
  gzip: "gz",
  gz: "gz",
  brotli: "br",
  br: "br",
  xz: "xz",
  LZMA: "xz",
  zstd: "zst",
  zst: "zst",
  bz2: "bz2",
  lz4: "lz4",
};
