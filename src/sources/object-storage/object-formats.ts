/** Formats that objects may have, by their names in the engine. */
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
