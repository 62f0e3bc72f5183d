/** `schemaRegistry` of the kinds whose messages reference a schema: a registry with Confluent's API. */
import { z } from "zod";

export const schemaRegistry = z.strictObject({
  url: z.url({ protocol: /^https?$/ }),
  authentication: z.literal("PLAIN").optional(),
  caCertificate: z.string().min(1).optional(),
  credentials: z.strictObject({ username: z.string(), password: z.string() }).optional(),
});
