import { serve, runningService } from "./serve.ts";
import { writeFileSync } from "node:fs";
const env = JSON.parse(process.env.SENV ?? "{}");
await using served = await serve({ env, logFile: "/tmp/native-serve.log" });
const service = await runningService(served);
const rec = await served.api.getService({ params: { organizationId: served.credentials.organizationId, serviceId: service.id } } as never).catch((e: Error) => e.message);
console.log(JSON.stringify({ service, rec, credentials: served.credentials }));
writeFileSync("/tmp/native-service.json", JSON.stringify({ service, rec, credentials: served.credentials }));
await new Promise((r) => process.on("SIGTERM", r));
