import { NavTabs } from "../../parts/tabs.tsx";

/** The two lists of this area. */
export function AlertTabs() {
  return (
    <NavTabs
      label="Alerts"
      tabs={[
        { to: "/alerts", label: "Alerts" },
        { to: "/alerts/webhooks", label: "Webhooks" },
      ]}
    />
  );
}
