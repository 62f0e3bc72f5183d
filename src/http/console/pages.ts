/** Serves the console below `/console/`: one page for all its addresses, and its files. */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../../lib/errors.ts";
import { pageHeaders } from "../answer/headers.ts";
import { ConsoleBuild, consoleFolder } from "./build.ts";

const html = "text/html; charset=utf-8";

/** Adds the routes. A build that they start ends with the server. */
export function addConsolePages(server: FastifyInstance, build = new ConsoleBuild()): void {
  server.addHook("onClose", async () => build.close());
  server.get("/", async (_request, reply) => reply.redirect("/console/"));
  const page = ({ url }: FastifyRequest, reply: FastifyReply) => sendPage(url, reply, build);
  server.get("/console", page);
  server.get("/console/*", page);
  const files = { root: consoleFolder, decorateReply: false, index: false as const, preCompressed: true };
  // Names of assets contain a hash of their content.
  const assets = { root: join(consoleFolder, "assets"), prefix: "/console/assets/", immutable: true, maxAge: "365d" };
  server.register(fastifyStatic, { ...files, ...assets, logLevel: "silent" });
  for (const name of ["icon.svg", "start.js"])
    server.get(`/console/${name}`, (_request, reply) => sendFile(reply, name));
}

function sendPage(url: string, reply: FastifyReply, build: ConsoleBuild): FastifyReply {
  const state = build.state();
  if (state.kind !== "ready") {
    const isBuilding = state.kind === "building";
    const text = isBuilding ? "The console is being built. This page opens it in a few seconds." : state.sentence;
    return reply
      .status(isBuilding ? 200 : 503)
      .headers(pageHeaders)
      .type(html)
      .send(waitingPage(text, isBuilding));
  }
  const nonce = randomBytes(16).toString("base64");
  const text = readFileSync(join(consoleFolder, "index.html"), "utf8")
    .replace("</head>", `${linksOf(url)}</head>`)
    .replaceAll("CSP_NONCE", nonce);
  return reply.headers(consoleHeaders(nonce)).header("cache-control", "no-store").type(html).send(text);
}

type Chunk = { readonly file: string; readonly imports?: readonly string[]; readonly css?: readonly string[] };

/** Links to the code of an address's screen: it is loaded beside the program, which asks for it only when it runs. */
function linksOf(url: string): string {
  const name = /^\/console\/([a-z-]+)\/?(?:\?|$)/.exec(url)?.[1];
  if (name === undefined) return "";
  const chunks = JSON.parse(readFileSync(join(consoleFolder, "manifest.json"), "utf8")) as Record<string, Chunk>;
  const files = new Set<string>();
  const add = (key: string): void => {
    const { file = "", imports = [], css = [] } = chunks[key] ?? {};
    // The page itself has the program.
    if (key === "index.html" || file === "" || files.has(file)) return;
    for (const one of [...css, file]) files.add(one);
    imports.forEach(add);
  };
  add(`src/features/${name}/${name}-page.tsx`);
  const link = (file: string) =>
    `<link rel="${file.endsWith(".css") ? "stylesheet" : "modulepreload"}" crossorigin href="/console/${file}">`;
  return [...files].map(link).join("");
}

function sendFile(reply: FastifyReply, name: string): FastifyReply {
  const type = name.endsWith(".svg") ? "image/svg+xml" : "text/javascript; charset=utf-8";
  try {
    const content = readFileSync(join(consoleFolder, name));
    return reply.header("cache-control", "no-cache").type(type).send(content);
  } catch (cause) {
    throw new AppError("NOT_FOUND", `There is no /console/${name}.`, { cause });
  }
}

function consoleHeaders(nonce: string): Record<string, string> {
  const policy = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": `'self' 'nonce-${nonce}'`,
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "font-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
  };
  return {
    ...pageHeaders,
    "content-security-policy": Object.entries(policy)
      .map((directive) => directive.join(" "))
      .join("; "),
    "cross-origin-opener-policy": "same-origin",
  };
}

function waitingPage(text: string, isBuilding: boolean): string {
  const refresh = isBuilding ? '<meta http-equiv="refresh" content="1">' : "";
  const style = "body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:20vh auto;padding:0 1rem}";
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Millrace</title>${refresh}
<meta name="color-scheme" content="light dark"><style>${style}</style><h1>Millrace</h1><p>${text}</p>
<p><a href="/docs">API documentation</a></p></html>`;
}
