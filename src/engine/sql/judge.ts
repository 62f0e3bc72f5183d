import type { ClickHouseClient } from "../../clickhouse/client.ts";
import type { Judge } from "../http/queries.ts";

export function statementJudge(_client: ClickHouseClient): Judge {
  return {
    hasData: (text) => /^\s*INSERT\s[^;]*?(\sFORMAT\s+\w+\s|\sVALUES)/i.test(text.subarray(0, 4000).toString("latin1")),
    judge: async () => ({ valuesMayCompute: true }),
  };
}
