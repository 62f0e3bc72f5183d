/** Supported formats of objects, by their engine names. */
export const objectFormats = [
  "JSONEachRow",
  "JSONAsObject",
  "CSV",
  "CSVWithNames",
  "TabSeparated",
  "TabSeparatedWithNames",
  "Parquet",
  "Avro",
  "ORC",
  "Arrow",
] as const;
