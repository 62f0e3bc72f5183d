/** The interface of a runtime, which runs the engine of a service. */
import type { ClickHouseAddress } from "../clickhouse/client.ts";
import type { HandoffSender } from "../endpoint/handoff/sender.ts";
import type { ForwardAddress } from "../endpoint/proxy/upstream.ts";
import type { Service } from "../store/services.ts";

export type RunningEngine = {
  /** Of the engine host. */
  readonly pid: number;
  /** The engine's ClickHouse HTTP interface, for the control plane and its workers; only they know the password. */
  readonly address: ClickHouseAddress;
  /** The same with the rights of a read-only user. */
  readonly readerAddress: ClickHouseAddress;
  /** False when users or memory of the service differ from those at the engine's start: then it is restarted. */
  readonly isCurrent: (service: Service) => Promise<boolean>;
  /** The `maxReplicaMemoryGb` at its start. */
  readonly memoryGb: number;
  /** For requests that the gateway forwards. */
  readonly forwardAddress: ForwardAddress;
  readonly version: string;
  /** Sets the disk limit of the service in bytes, from the next statement on; undefined removes it. */
  readonly limitDisk: (limitBytes: number | undefined) => void;
  /** For client connections, which the engine then serves itself; a runtime may not support it. */
  readonly handoff?: HandoffSender;
  /** Resolves when the engine's process has ended, with a sentence that says how. */
  readonly ended: Promise<string>;
  /** Stops the process, after a moment for running queries; resolves when it has ended. */
  stop(): Promise<void>;
};

export interface ServiceRuntime {
  /** Starts the engine on the service's data, after stopping what an earlier run may have left. */
  start(service: Service): Promise<RunningEngine>;
  /** Removes the service's data. Only called when its engine is not running. */
  remove(serviceId: string): Promise<void>;
}
