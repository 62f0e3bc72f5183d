import { createRoute } from "@tanstack/react-router";
import { rootRoute, screen } from "../../app/root-route.tsx";

/** The step and the draft are in the address, so that reload and Back keep them. */
const newPipeRoute = createRoute({
  ...screen(rootRoute, "/new-pipe", () => import("./new-pipe-page.tsx"), "NewPipePage"),
  validateSearch: ({ step, draft, service, clone }: Record<string, unknown>) => ({
    ...(typeof step === "number" && step >= 2 && step <= 5 ? { step } : {}),
    ...(typeof draft === "string" ? { draft } : {}),
    ...(typeof service === "string" ? { service } : {}),
    // `serviceId/pipeId` of the pipe that the new one is like.
    ...(typeof clone === "string" ? { clone } : {}),
  }),
});

export const newPipeRoutes = [newPipeRoute] as const;
