import { rootRoute, screen } from "../../app/root-route.tsx";
import { textsOf } from "../../lib/search.ts";

/** The step and the draft are in the address, so that reload and Back keep them. */
const newPipeSearch = ({ step, ...search }: Record<string, unknown>) => ({
  ...(typeof step === "number" && step >= 2 && step <= 5 ? { step } : {}),
  // `clone`: `serviceId/pipeId` of the pipe that the new one is like.
  ...textsOf(search, "draft", "service", "clone"),
});

export const newPipeRoutes = [
  screen(rootRoute, "/new-pipe", () => import("./new-pipe-page.tsx"), "NewPipePage", newPipeSearch),
] as const;
