/** The form of a route of the dialect. */
import type { z } from "zod";
import type { Operation } from "../api/operation.ts";
import type { KeptValues } from "./accepted.ts";
import type { CloudForm } from "./dialect.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies and results have the types of many operations
export type Untyped = any;

/** Calls an operation in the name of the client: validates, handles, and records the activity. */
export type CallOperation = (
  operation: string,
  input: {
    readonly params: Readonly<Record<string, string>>;
    readonly query?: object;
    readonly body?: unknown;
  },
) => Promise<Untyped>;

/** A request in our names, without the members that our operations do not have. */
export type CloudRequest = {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Untyped;
  readonly body: Untyped;
  /** Members that later responses depend on. */
  readonly kept: KeptValues;
  readonly userAgent: string;
};

export type Run = (call: CallOperation, request: CloudRequest) => Promise<unknown>;

export type CloudRoute = {
  /** Name of the operation in the dialect; that of ours where there is one. */
  readonly id: string;
  readonly method: Operation["method"];
  readonly path: string;
  /** Decides about roles, parameters of the path and versions. */
  readonly operation: Operation;
  readonly query?: z.ZodObject;
  readonly body?: { readonly schema: z.ZodType; readonly form?: CloudForm };
  /** `at` is the path to the records in the result; absent: the operation has no result. */
  readonly result?: { readonly schema: z.ZodType; readonly form?: CloudForm; readonly at: string };
  readonly run: Run;
  /** The values to keep, if they are not those of the request alone. */
  readonly keptBy?: (request: CloudRequest) => KeptValues;
};
