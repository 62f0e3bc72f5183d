/** Connections (observability API): every service is one, with the id of the service. */
import { z } from "zod";
import { operation, plainText, timestamp, uuid } from "./operation.ts";

const connectionRecord = z
  .object({
    id: uuid.describe("Id of the service; `connection` of a chart source"),
    name: z.string(),
    host: z.string().describe("URL of the service's endpoint"),
    username: z
      .string()
      .describe("User of the service for programs that connect themselves; its password is not shown"),
    createdAt: timestamp,
  })
  .meta({ id: "Connection" });

export type ConnectionRecord = z.output<typeof connectionRecord>;

const tag = "Connections";
const root = "/api/v2/connections";
const one = { path: `${root}/{connectionId}`, params: z.object({ connectionId: plainText(1, 100) }) };
const refused = "Always answers 400: a connection is a service, and is changed with the management API";
const body = z.record(z.string(), z.unknown()).describe("Any object");

export const connectionOperations = {
  listConnections: operation({
    ...{ method: "GET", storedOnly: true, path: root, tag, access: "read" },
    summary: "Lists connections: one for each service",
    result: z.object({ data: z.array(connectionRecord) }),
  }),
  getConnection: operation({
    ...{ method: "GET", storedOnly: true, ...one, tag, access: "read" },
    summary: "Gets the connection of a service",
    result: z.object({ data: connectionRecord }),
  }),
  createConnection: operation({
    ...{ method: "POST", path: root, tag, access: "developer", summary: refused },
    body,
    result: z.object({}),
  }),
  replaceConnection: operation({
    ...{ method: "PUT", ...one, tag, access: "developer", summary: refused },
    body,
    result: z.object({}),
  }),
  deleteConnection: operation({
    ...{ method: "DELETE", ...one, tag, access: "developer", summary: refused },
    result: z.object({}),
  }),
};
