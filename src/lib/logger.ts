/** Structured logs on stderr. Rooms receive a logger; nobody imports one. Secret-looking keys are redacted. */
import { type DestinationStream, type Logger as PinoLogger, pino, destination as toFd } from "pino";

export type Logger = PinoLogger;

const secretKeys = ["password", "secretKey", "keySecret", "accessToken", "authorization", "connectionString", "token"];

/** Raw in JSON, and obeyed by terminals: C1 control characters, and those that reverse the order of text. */
const steering = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** The escape is part of the text: it stays visible when the line is parsed and shown on a terminal. */
function visible(line: string): string {
  return line.replaceAll(steering, (one) => `\\\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** One JSON object per line, with the name of its level; `output` is stderr by default. */
export function createLogger(level: string, output: DestinationStream = toFd({ dest: 2, sync: true })): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: visible },
      redact: { paths: secretKeys.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]), censor: "[redacted]" },
    },
    output,
  );
}

/** The logger of the program: `auto` is for people on a terminal, and JSON elsewhere. */
export async function openLogger(level: string, format: "auto" | "json" | "pretty"): Promise<Logger> {
  if (format === "json" || (format === "auto" && process.stderr.isTTY !== true)) return createLogger(level);
  const { default: pretty } = await import("pino-pretty");
  // Colours only on a terminal that has them, and not against NO_COLOR.
  const colorize = process.stderr.isTTY === true && process.stderr.hasColors();
  return createLogger(level, pretty({ destination: 2, sync: true, colorize, translateTime: "SYS:HH:MM:ss.l" }));
}
