import { useOperation } from "../../api/queries.ts";
import { useServerNow } from "../../parts/relative-time.tsx";
import { firstBackupText, type Service, scheduleText } from "./backup.ts";

/** When backups are made, and how long they are kept. */
export function Schedule({ serviceId }: { readonly serviceId: string }) {
  const { data } = useOperation("getBackupConfiguration", { params: { serviceId } }, { pace: "slow" });
  return data === undefined ? null : <span>{scheduleText(data)}</span>;
}

/** When the first backup begins by itself. */
export function FirstBackup({ service }: { readonly service: Service }) {
  const now = useServerNow();
  const { data } = useOperation("getBackupConfiguration", { params: { serviceId: service.id } }, { pace: "slow" });
  return data === undefined ? null : firstBackupText(service.createdAt, data, now);
}
