import { Outlet } from "@tanstack/react-router";
import { Page } from "../../parts/page.tsx";
import { NavTabs } from "../../parts/tabs.tsx";

/** Who may use this organization: keys of programs and people, tokens of charts, browsers. */
export function AccessPage() {
  return (
    <Page title="Access">
      <NavTabs
        label="Access"
        tabs={[
          { to: "/access", label: "Keys" },
          { to: "/access/tokens", label: "Access tokens" },
          { to: "/access/sessions", label: "Sessions" },
        ]}
      />
      <Outlet />
    </Page>
  );
}
