/** Query endpoints of services: which keys may run statements there, and with which rights. */
import { randomUUID } from "node:crypto";
import type { QueryEndpointRole } from "../../api/query-endpoints.ts";
import { columnShapes, readJson } from "../database/column-shapes.ts";
import { recordReader } from "../database/columns.ts";
import { findRecord, Store } from "../database/records.ts";

export type QueryEndpoint = {
  readonly id: string;
  readonly roles: readonly QueryEndpointRole[];
  /** Ids of keys. */
  readonly openApiKeys: readonly string[];
  /** Origins of pages, separated by commas; `*`: any. */
  readonly allowedOrigins: string;
};

const toEndpoint = recordReader<QueryEndpoint>()(["id roles openApiKeys allowedOrigins"], {
  roles: (json: string) => readJson(columnShapes.queryEndpointRoles, json, "roles of the query endpoint"),
  openApiKeys: (json: string) => readJson(columnShapes.queryEndpointKeys, json, "keys of the query endpoint"),
});

export class QueryEndpointStore extends Store {
  /** Rejects with STORED_STATE_UNREADABLE when a list is not one of this server. */
  async find(serviceId: string): Promise<QueryEndpoint | undefined> {
    return await findRecord(this.db, { table: "query_endpoints", read: toEndpoint }, "WHERE service_id = ?", serviceId);
  }

  /** Replaces what there is; the id stays. */
  async set(serviceId: string, { roles, openApiKeys, allowedOrigins }: Omit<QueryEndpoint, "id">): Promise<void> {
    await this.db.run(
      `INSERT INTO query_endpoints (service_id, id, roles, open_api_keys, allowed_origins) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (service_id) DO UPDATE SET roles = excluded.roles, open_api_keys = excluded.open_api_keys,
         allowed_origins = excluded.allowed_origins`,
      ...[serviceId, randomUUID(), JSON.stringify(roles), JSON.stringify(openApiKeys), allowedOrigins],
    );
  }

  /** False: there was none. */
  async remove(serviceId: string): Promise<boolean> {
    return (await this.db.run("DELETE FROM query_endpoints WHERE service_id = ?", serviceId)) > 0;
  }
}
