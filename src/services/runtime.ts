/** What runs the engine of a service. */
import type { ClickHouseAddress } from "../clickhouse/client.ts";
import type { HandOver } from "../endpoint/handoff/sender.ts";
import type { FrontAddress } from "../endpoint/proxy/upstream.ts";
import type { Service } from "../store/services.ts";

export type RunningEngine = {
  /** The engine's ClickHouse HTTP interface, for the control plane and its workers; the password is theirs alone. */
  readonly address: ClickHouseAddress;
  /** The same with the rights of a user that may only read. */
  readonly readerAddress: ClickHouseAddress;
  /** False when users or memory of the service are not those that the engine was started with: then it starts anew. */
  readonly isCurrent: (service: Service) => Promise<boolean>;
  /** The `maxReplicaMemoryGb` that it was started with. */
  readonly memoryGb: number;
  /** For requests that the gateway carries. */
  readonly front: FrontAddress;
  readonly version: string;
  /** Sets what the service may use of the disk, in bytes; holds from the next statement on. Undefined: no limit. */
  readonly limitDisk: (limitBytes: number | undefined) => void;
  /** For connections of clients, which the engine then answers itself; a runtime may have no such way. */
  readonly handOver?: HandOver;
  /** Settles when the engine's process has ended, with a sentence that says how. */
  readonly ended: Promise<string>;
  /** Ends the process, after a moment for queries under way; resolves when it is gone. */
  stop(): Promise<void>;
};

export interface ServiceRuntime {
  /** Starts the engine on the service's data, after ending what an earlier run may have left. */
  start(service: Service): Promise<RunningEngine>;
  /** Removes the service's data. Only called when its engine is not running. */
  remove(serviceId: string): Promise<void>;
}
