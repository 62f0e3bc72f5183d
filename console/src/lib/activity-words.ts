/** Activities as words. */

const sentences: Readonly<Record<string, string>> = {
  service_start: "service start requested",
  service_stop: "service stop requested",
  service_awaken: "service wake requested",
  service_update_password: "service password reset",
  service_update_autoscaling: "service scaling updated",
  service_restore_backup: "restore requested",
  pipe_start: "pipe start requested",
  pipe_stop: "pipe stop requested",
  pipe_resync: "pipe resync requested",
  backup_create: "backup requested",
  backup_verify: "backup check requested",
};

const pasts: Readonly<Record<string, string>> = {
  create: "created",
  update: "updated",
  delete: "deleted",
  discard: "discarded",
  replay: "replayed",
  replace: "replaced",
  rescan: "looked for",
};

/** What happened: `pipe_settings_update` as `pipe settings updated`. */
export function activityWords(type: string): string {
  const words = type.replace(/^openapi_/, "").split("_");
  return sentences[type] ?? words.map((word) => pasts[word] ?? word).join(" ");
}

/** Who did it: the name of the key or session, or the server itself. */
export function actorWords(actorType: string, actorDetails: string | undefined): string {
  return actorType === "system" ? "Millrace" : (actorDetails ?? "a deleted key");
}

/** The kind of its object: `savedObject` as `saved object`. */
export function objectWords(objectType: string): string {
  return objectType.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
