/** Saved queries, charts, dashboards and drafts. */
import type { Handlers } from "../../api/operations.ts";
import type { savedObjectOperations } from "../../api/saved-objects.ts";
import { AppError, found, notFound } from "../../lib/errors.ts";
import type { CredentialStore } from "../../store/credentials.ts";
import type { OrganizationLimits } from "../../store/limits.ts";
import type { SavedObjectReader, SavedObjectStore } from "../../store/saved-objects.ts";
import type { Context } from "../context.ts";

export function savedObjectHandlers(deps: {
  savedObjects: SavedObjectStore;
  credentials: CredentialStore;
  limits: OrganizationLimits;
}): Handlers<typeof savedObjectOperations, Context> {
  const { savedObjects } = deps;
  const keyName = async ({ organizationId, credentialId }: Context) =>
    (await deps.credentials.findKey(organizationId, credentialId))?.name ?? "";
  const get = async (reader: SavedObjectReader, id: string) => {
    const { content, ...summary } = found(await savedObjects.find(reader, id), "Saved object", id);
    return { ...summary, content: { ...content } };
  };
  return {
    listSavedObjects: ({ query }, context) => savedObjects.list(readerOf(context), query.kind),
    createSavedObject: async ({ body }, context) => {
      const wanted = { ...body, createdBy: await keyName(context) };
      const { id } = await savedObjects.create(readerOf(context), wanted, deps.limits.savedObjects);
      return await get(readerOf(context), id);
    },
    getSavedObject: ({ params }, context) => get(readerOf(context), params.savedObjectId),
    updateSavedObject: async ({ params, body }, context) => {
      const reader = readerOf(context);
      const id = params.savedObjectId;
      const change = { name: body.name, content: body.content, updatedBy: await keyName(context) };
      if (!(await savedObjects.change(reader, id, body.version, change))) {
        const { version, updatedBy } = await get(reader, id);
        const message = `It was changed meanwhile by ${updatedBy}: its version is ${version}, not ${body.version}.`;
        throw new AppError("CONFLICT", message, { issues: [{ path: "version", message }] });
      }
      return await get(reader, id);
    },
    deleteSavedObject: async ({ params }, context) => {
      if (!(await savedObjects.delete(readerOf(context), params.savedObjectId))) {
        throw notFound("Saved object", params.savedObjectId);
      }
      return undefined;
    },
  };
}

function readerOf({ organizationId, credentialId }: Context): SavedObjectReader {
  return { organizationId, keyId: credentialId };
}
