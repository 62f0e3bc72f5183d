import { NavTabs } from "../../parts/tabs.tsx";

export function ActivityTabs() {
  return (
    <NavTabs
      label="Activity"
      tabs={[
        { to: "/activity", label: "Changes" },
        { to: "/activity/logins", label: "Logins and refusals" },
      ]}
    />
  );
}
