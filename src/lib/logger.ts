/** Structured logs on stderr. Rooms receive a logger; nobody imports one. Secret-looking keys are redacted. */
import { type Logger as PinoLogger, pino, destination as toFd } from "pino";

export type Logger = PinoLogger;

const secretKeys = ["password", "secretKey", "keySecret", "accessToken", "authorization", "connectionString", "token"];

export function createLogger(level: string): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      redact: { paths: secretKeys.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]), censor: "[redacted]" },
    },
    toFd({ dest: 2, sync: true }),
  );
}
