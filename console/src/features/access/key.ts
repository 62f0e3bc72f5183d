import type { OperationResult } from "../../api/client.ts";

export type Key = OperationResult<"listKeys">[number];
export type Token = OperationResult<"listAccessTokens">[number];
export type Session = OperationResult<"listSessions">[number];
