/** The data of the chart benchmarks: log rows of one day, made by the engine itself. */
import type { ClickHouseClient } from "../src/clickhouse/client.ts";

/** 2024-05-01T00:00:00Z. */
export const dayStartMs = 1_714_521_600_000;
export const dayEndMs = dayStartMs + 86_400_000 - 1;

/** `bench.logs`: 40 services, 5 levels, 200 hosts, text bodies, a map of attributes and a duration. */
export async function loadLogs(client: ClickHouseClient, rows: number): Promise<void> {
  await client.command("CREATE DATABASE IF NOT EXISTS bench");
  await client.command(`CREATE TABLE bench.logs (
    Timestamp DateTime64(9),
    ServiceName LowCardinality(String),
    SeverityText LowCardinality(String),
    Body String,
    DurationMs UInt64,
    StatusCode UInt16,
    HostId UInt32,
    LogAttributes Map(LowCardinality(String), String)
  ) ENGINE = MergeTree ORDER BY (ServiceName, Timestamp)`);
  await client.command(`INSERT INTO bench.logs SELECT
    fromUnixTimestamp64Milli(toInt64(${dayStartMs} + intDiv(number * 86400000, ${rows}))) AS Timestamp,
    concat('service-', toString(cityHash64(number, 1) % 40)) AS ServiceName,
    ['trace', 'debug', 'info', 'warn', 'error'][1 + least(4, toUInt8(sqrt(cityHash64(number, 2) % 25)))] AS SeverityText,
    concat(
      ['request completed', 'connection timeout to upstream', 'user logged in', 'cache miss for key', 'payment failed: card declined'][1 + cityHash64(number, 3) % 5],
      ' path=/api/v', toString(cityHash64(number, 4) % 3), '/items/', toString(cityHash64(number, 5) % 10000),
      ' trace=', hex(cityHash64(number, 6))
    ) AS Body,
    toUInt64(exp((cityHash64(number, 7) % 1000) / 120)) AS DurationMs,
    [200, 200, 200, 201, 204, 301, 400, 404, 500, 503][1 + cityHash64(number, 8) % 10] AS StatusCode,
    toUInt32(cityHash64(number, 9) % 20000) AS HostId,
    map('http.method', ['GET', 'POST', 'PUT', 'DELETE'][1 + cityHash64(number, 10) % 4],
        'region', concat('region-', toString(cityHash64(number, 11) % 8)),
        'k8s.pod.name', concat('pod-', toString(cityHash64(number, 12) % 200))) AS LogAttributes
    FROM numbers(${rows})`);
  await client.command("OPTIMIZE TABLE bench.logs FINAL");
}
