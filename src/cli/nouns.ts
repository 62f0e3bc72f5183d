/** The commands by their first word. The code of a word is loaded when it is used. */
import type { Command } from "commander";
import type { Shell } from "./shell.ts";

/** Adds the arguments, flags and verbs of a word. */
export type AddCommands = (command: Command, shell: Shell) => void;

export type Noun = { readonly name: string; readonly summary: string; readonly load: () => Promise<AddCommands> };

const noun = (name: string, summary: string, load: () => Promise<AddCommands>): Noun => ({ name, summary, load });

export const nouns: readonly Noun[] = [
  noun(
    "status",
    "Shows what runs, and what needs attention",
    async () => (await import("./commands/status.ts")).addStatus,
  ),
  noun("service", "Manages database services", async () => (await import("./commands/service.ts")).addService),
  noun(
    "sql",
    "Runs statements in a service, or opens a prompt",
    async () => (await import("./commands/sql.ts")).addSql,
  ),
  noun("pipe", "Manages ingestion pipes", async () => (await import("./commands/pipe.ts")).addPipe),
  noun("backup", "Makes, checks and restores backups", async () => (await import("./commands/backup.ts")).addBackup),
  noun(
    "events",
    "Shows who did what, and changes of states",
    async () => (await import("./commands/events.ts")).addEvents,
  ),
  noun("top", "Shows rates and lag of pipes, live", async () => (await import("./commands/top.ts")).addTop),
  noun("source", "Manages the sources of charts", async () => (await import("./commands/source.ts")).addSource),
  noun(
    "alert",
    "Manages alerts, and creates those of states",
    async () => (await import("./commands/alert.ts")).addAlert,
  ),
  noun("webhook", "Manages where alerts are told", async () => (await import("./commands/webhook.ts")).addWebhook),
  noun("chart", "Draws a chart of a source", async () => (await import("./commands/chart.ts")).addChart),
  noun("session", "Lists and ends browser sessions", async () => (await import("./commands/session.ts")).addSession),
  noun(
    "console",
    "Prints a link that signs a browser in",
    async () => (await import("./commands/console.ts")).addConsole,
  ),
  noun("key", "Manages API keys", async () => (await import("./commands/key.ts")).addKey),
  noun("token", "Manages access tokens of charts", async () => (await import("./commands/token.ts")).addToken),
  noun(
    "apply",
    "Makes services, pipes, alerts and more as files describe them",
    async () => (await import("./commands/apply.ts")).addApply,
  ),
  noun("diff", "Shows what apply would do", async () => (await import("./commands/apply.ts")).addDiff),
  noun(
    "export",
    "Writes existing objects as files for apply",
    async () => (await import("./commands/apply.ts")).addExport,
  ),
  noun("login", "Stores a server and a key as a context", async () => (await import("./commands/login.ts")).addLogin),
  noun("logout", "Removes a context", async () => (await import("./commands/login.ts")).addLogout),
  noun("context", "Lists and selects contexts", async () => (await import("./commands/context.ts")).addContext),
  noun(
    "whoami",
    "Shows the server, the key and where they come from",
    async () => (await import("./commands/login.ts")).addWhoami,
  ),
  noun(
    "doctor",
    "Checks the server and what it runs, with remedies",
    async () => (await import("./commands/doctor.ts")).addDoctor,
  ),
  noun("mcp", "Offers tools to agents, over stdio", async () => (await import("./commands/mcp.ts")).addMcp),
  noun("api", "Sends any request with the credentials found", async () => (await import("./commands/api.ts")).addApi),
  noun(
    "completion",
    "Prints the completion script of a shell",
    async () => (await import("./commands/completion.ts")).addCompletion,
  ),
];
