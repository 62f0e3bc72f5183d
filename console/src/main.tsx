/** The entry of the console. */
import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "./api/queries.ts";
import { watchPresence } from "./api/refresh.ts";
import { Gate } from "./app/gate.tsx";
import { cspNonce } from "./lib/nonce.ts";
import { Tooltips } from "./parts/tooltips.tsx";
import "./theme/tokens.css";
import "./theme/base.css";
import "./theme/layout.css";

watchPresence();
createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <CSPProvider nonce={cspNonce()}>
      <QueryClientProvider client={queryClient}>
        <Gate />
        <Tooltips />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
