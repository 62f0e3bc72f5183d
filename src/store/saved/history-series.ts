/** The numbers that histories keep. Their order is that of the files: new names go to the end, and none is removed. */

export const pipeSeries = [
  "rowsPerSecond",
  "bytesPerSecond",
  "errorsPerSecond",
  "lagRows",
  "lagBytes",
  "lagFiles",
  "lagSeconds",
  "latencySeconds",
  "workers",
] as const;
export type PipeSeries = (typeof pipeSeries)[number];

export const serviceSeries = [
  "running",
  "diskBytes",
  "memoryBytes",
  "connections",
  "queriesPerSecond",
  "failedQueriesPerSecond",
  "querySeconds",
  "cpuCores",
  "selectedRowsPerSecond",
  "insertedRowsPerSecond",
  "insertedBytesPerSecond",
] as const;
export type ServiceSeries = (typeof serviceSeries)[number];
