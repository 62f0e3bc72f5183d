import { createRoute } from "@tanstack/react-router";
import { rootRoute, screen } from "../../app/root-route.tsx";
import { textsOf } from "../../lib/search.ts";

/** The step and the draft are in the address, so that reload and Back keep them. */
const newPipeRoute = createRoute({
  ...screen(rootRoute, "/new-pipe", () => import("./new-pipe-page.tsx"), "NewPipePage"),
  validateSearch: ({ step, ...search }: Record<string, unknown>) => ({
    ...(typeof step === "number" && step >= 2 && step <= 5 ? { step } : {}),
    // `clone`: `serviceId/pipeId` of the pipe that the new one is like.
    ...textsOf(search, "draft", "service", "clone"),
  }),
});

export const newPipeRoutes = [newPipeRoute] as const;
