/** What a request of the protocol is. */
import type { WireReader, WireWriter } from "./wire.ts";

export type VersionRange = { readonly min: number; readonly max: number };

/** A request of the protocol, with the versions that this client writes and reads. */
export type Api = VersionRange & {
  readonly key: number;
  readonly name: string;
  /** The first version in the flexible form; absent where no version has it. */
  readonly flexibleFrom?: number;
};

/** A request of the protocol and how its answer is read. */
export type Call<T> = {
  readonly api: Api;
  /** The newest version that can express this request, where that is not the newest of `api`. */
  readonly newest?: number;
  write(to: WireWriter, version: number): void;
  read(from: WireReader, version: number): T;
  /** Memory for the answer of so many bytes. What `read` returns may refer to it. */
  readonly memory?: ((bytes: number) => Buffer) | undefined;
};
