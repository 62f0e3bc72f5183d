/** A server with a service for tests of the native protocol. */
import { type ClientOptions, NativeClient } from "../../../harness/native/client.ts";
import { type BenchService, query, runningService, type Served, serve } from "../../../harness/serve.ts";

export type NativeStage = AsyncDisposable & {
  readonly served: Served;
  readonly service: BenchService;
  readonly port: number;
  /** Logs in as `default`. */
  connect(options?: Partial<ClientOptions>): Promise<NativeClient>;
  /** A statement over HTTP. */
  http(sql: string): Promise<string>;
  state(): Promise<string>;
};

export async function nativeStage(env: Record<string, string> = {}, body: object = {}): Promise<NativeStage> {
  const served = await serve({ env });
  const service = await runningService(served, body);
  const { endpoints } = await served.api.getService({ params: service.params });
  const port = endpoints.find(({ protocol }) => protocol.startsWith("native"))?.port ?? 0;
  return {
    served,
    service,
    port,
    connect: (options = {}) => NativeClient.connect({ port, password: service.password, ...options }),
    http: (sql) => query(service, sql),
    state: async () => (await served.api.getService({ params: service.params })).state,
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}
