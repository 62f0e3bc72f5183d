/** Content types of the output formats; what is not listed is binary or has no type of its own. */

const contentTypes: readonly (readonly [RegExp, string])[] = [
  [
    /^JSON(?:Strings|Compact|CompactStrings|Columns|CompactColumns|ColumnsWithMetadata|ObjectEachRow)?$/,
    "application/json; charset=UTF-8",
  ],
  [/^JSON.*EachRow/, "application/x-ndjson; charset=UTF-8"],
  [/^CSV(?:WithNames.*)$/, "text/csv; charset=UTF-8; header=present"],
  [/^CSV$/, "text/csv; charset=UTF-8; header=absent"],
  [/^(?:TSV|TabSeparated)/, "text/tab-separated-values; charset=UTF-8"],
  [/^XML$/, "application/xml; charset=UTF-8"],
  [
    /^(?:Native|RowBinary|Parquet|ORC|Arrow|Avro|MsgPack|Protobuf|CapnProto|BSON|Npy|Buffers)/,
    "application/octet-stream",
  ],
];

export function contentTypeOf(format: string): string {
  return contentTypes.find(([pattern]) => pattern.test(format))?.[1] ?? "text/plain; charset=UTF-8";
}
