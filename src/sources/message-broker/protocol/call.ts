/** Definition of a protocol request. */
import type { KafkaWireReader, KafkaWireWriter } from "./wire.ts";

export type VersionRange = { readonly min: number; readonly max: number };

/** A protocol request, with the versions that this client implements. */
export type Api = VersionRange & {
  readonly key: number;
  readonly name: string;
  /** The first version in the flexible form; absent when no version has it. */
  readonly flexibleFrom?: number;
};

/** A request of the protocol, and how to read its response. */
export type Call<T> = {
  readonly api: Api;
  /** The newest version that can express this request, if it is older than the newest of `api`. */
  readonly newest?: number;
  write(to: KafkaWireWriter, version: number): void;
  read(from: KafkaWireReader, version: number): T;
  /** A larger response is refused; without it, one of `maxAnswerBytes`. */
  readonly maxBytes?: number;
  /** Memory for a response of this many bytes. The result of `read` may refer to it. */
  readonly memory?: ((bytes: number) => Buffer) | undefined;
};
