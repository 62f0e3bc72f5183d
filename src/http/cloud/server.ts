/** A listener with the dialect alone and no prefix, for clients that lose the prefix of a URL. */
import type { FastifyInstance } from "fastify";
import { newRouter, readyRouter } from "../server/server.ts";
import { addCloudApi, type CloudApiOptions } from "./routes.ts";

export async function createCloudServer(options: CloudApiOptions): Promise<FastifyInstance> {
  const server = newRouter(options);
  addCloudApi(server, options, "");
  return await readyRouter(server);
}
