/** The program itself, for its operator. An extension of the contract. */
import { z } from "zod";
import { operation, timestamp, uuid } from "./operation.ts";

const loop = z.object({
  name: z.string(),
  running: z.boolean(),
  passes: z.int(),
  consecutiveFailures: z.int(),
  lastError: z.string().optional(),
});

const engine = z.object({
  serviceId: uuid,
  pid: z.int(),
  memoryBytes: z.int().optional().describe("Resident memory of the process; absent where the system does not tell"),
  memoryLimitGb: z.int(),
  version: z.string(),
});

const setting = z
  .object({
    name: z.string(),
    flag: z.string(),
    environment: z.string(),
    origin: z.enum(["flag", "environment", "default"]),
    value: z
      .union([z.string(), z.number(), z.boolean()])
      .optional()
      .describe("Absent if not set; `set` for a secret that is set"),
    secret: z.boolean(),
  })
  .meta({ id: "Setting" });

export const systemRecord = z
  .object({
    version: z.string(),
    nodeVersion: z.string(),
    engineVersion: z.string().describe("Version of ClickHouse that services run from their next start on"),
    platform: z.string(),
    pid: z.int(),
    startedAt: timestamp,
    uptimeSeconds: z.int(),
    memoryBytes: z.int().describe("Resident memory of the control plane"),
    baseUrl: z.string(),
    dataDir: z.string(),
    disk: z.object({ totalBytes: z.int(), freeBytes: z.int() }).describe("The disk of dataDir"),
    confinement: z.object({ confined: z.boolean(), sentence: z.string() }),
    loops: z.array(loop),
    engines: z.array(engine).describe("Running engines of the organization"),
    limits: z
      .array(z.object({ name: z.string(), most: z.number(), setting: z.string().describe("The flag that sets it") }))
      .describe("Limits of each organization"),
    configuration: z.array(setting).describe("Every setting of the server, secrets without their values"),
  })
  .meta({ id: "System" });

export const systemOperations = {
  getSystem: operation({
    method: "GET",
    path: "/v1/system",
    tag: "System",
    summary: "Gets versions, disk, loops, engines, limits and configuration of the server, without secrets",
    access: "admin",
    params: z.object({}),
    result: systemRecord,
  }),
};
