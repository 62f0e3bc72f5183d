/** The interface of a runtime, which runs the engine of a service. */
import type { ClickHouseAddress } from "../clickhouse/client.ts";
import type { ForwardAddress } from "../endpoint/forward/upstream.ts";
import type { HandoffSender } from "../endpoint/handoff/sender.ts";
import type { ManagedConnection } from "../store/services/service-connections.ts";
import type { Service } from "../store/services/services.ts";
import type { Transition } from "./transitions.ts";

export type EngineProcess = {
  readonly pid: number;
  /** The `maxReplicaMemoryGb` at its start. */
  readonly memoryGb: number;
};

export type RunningEngine = {
  /** The engine host; undefined for a server that is not a process of ours. */
  readonly process?: EngineProcess;
  /** The engine's ClickHouse HTTP interface, for the control plane and its workers; only they know the password. */
  readonly address: ClickHouseAddress;
  /** The same with the rights of a read-only user. */
  readonly readerAddress: ClickHouseAddress;
  /** False when users, memory or connection of the service differ from those at its start: then it is restarted. */
  readonly isCurrent: (service: Service) => Promise<boolean>;
  /** False when statements have changed rights of users since its start: then it is restarted without waiting. */
  readonly knowsRights?: (serviceId: string) => Promise<boolean>;
  /** Where the gateway forwards requests to. */
  readonly forwardAddress: ForwardAddress;
  readonly version: string;
  /** What of the service is out of use, or what its changes wait for, in one sentence. */
  readonly note?: string | undefined;
  /** How others of the installation reach the hosts of a service in Kubernetes. */
  readonly managedConnection?: ManagedConnection;
  /** Sets the disk limit of the service in bytes, from the next statement on; undefined removes it. */
  readonly limitDisk: (limitBytes: number | undefined) => void;
  /** Takes client connections, which the engine then serves itself; a runtime may not support it. */
  readonly handoff?: HandoffSender;
  /** Resolves when the engine's process has ended, or an external server is away, with a sentence that says how. */
  readonly ended: Promise<string>;
  /**
   * Stops the process, after a moment for running queries; resolves when it has ended. A server that is not a process
   * of ours is left as it is.
   */
  stop(): Promise<void>;
};

export interface ServiceRuntime {
  /** Starts the engine on the service's data, after stopping what an earlier run may have left. */
  start(service: Service, transition: Transition): Promise<RunningEngine>;
  /**
   * Connects to what another process of the installation keeps running, and changes nothing; rejects when it does not
   * answer. Absent where `start` does no more than that.
   */
  connect?(service: Service): Promise<RunningEngine>;
  /**
   * Stops what runs without an engine, such as the pods of a cluster; resolves when it has ended. Called when the
   * service stops or becomes idle, and not when this program ends. Absent where everything ends with its engine.
   */
  halt?(service: Service, transition: Transition): Promise<void>;
  /** Makes the next start of a service that has become idle faster, where the runtime can; `halt` takes it back. */
  standBy?(service: Service): Promise<void>;
  /** Removes the service's data. Only called when its engine is not running. */
  remove(service: Service, transition: Transition): Promise<void>;
}
