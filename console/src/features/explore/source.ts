import type { OperationResult } from "../../api/client.ts";

export type Source = OperationResult<"listSources">["data"][number];
