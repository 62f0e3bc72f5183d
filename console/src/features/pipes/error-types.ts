/** Refused rows by cause, and which of them are shown. */
import type { OperationResult } from "../../api/client.ts";

export type Group = OperationResult<"listPipeErrors">[number];
export type ErrorFilters = { readonly state: "refused" | "replayed" | "all"; readonly origin?: string };
