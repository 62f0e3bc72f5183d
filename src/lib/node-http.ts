/**
 * `node:http` for processes that should start fast. An import by name reads all exports of the module, and one of them
 * loads a second HTTP client that is unused here: about 60 ms of CPU. The module itself loads in 5.
 */
import type * as Http from "node:http";

const http = process.getBuiltinModule("node:http");

export const { Agent, createServer, IncomingMessage, request } = http;
export type Agent = Http.Agent;
export type IncomingMessage = Http.IncomingMessage;
