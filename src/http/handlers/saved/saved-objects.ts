import type { savedObjectOperations } from "../../../api/saved-objects.ts";
import { AppError, found, notFound } from "../../../lib/errors.ts";
import type { CredentialStore } from "../../../store/access/credentials.ts";
import type { OrganizationLimits } from "../../../store/database/limits.ts";
import type { Stores } from "../../../store/open.ts";
import type { SavedObjectReader } from "../../../store/saved/saved-objects.ts";
import type { Context } from "../../caller/context.ts";
import type { Management } from "../lookups.ts";

export function savedObjectHandlers(
  deps: Pick<Stores, "savedObjects" | "credentials"> & { readonly limits: OrganizationLimits },
): Management<keyof typeof savedObjectOperations> {
  const { savedObjects } = deps;
  const get = async (reader: SavedObjectReader, id: string) => {
    const { content, ...summary } = found(await savedObjects.find(reader, id), "Saved object", id);
    return { ...summary, content: { ...content } };
  };
  return {
    listSavedObjects: ({ query }, context) => savedObjects.summaries(readerOf(context), query.kind),
    createSavedObject: async ({ body }, context) => {
      const by = await authorOf(deps, context);
      const { id } = await savedObjects.create(readerOf(context), body, by, deps.limits.savedObjects);
      return await get(readerOf(context), id);
    },
    getSavedObject: ({ params }, context) => get(readerOf(context), params.savedObjectId),
    updateSavedObject: async ({ params, body }, context) => {
      const reader = readerOf(context);
      const id = params.savedObjectId;
      try {
        await savedObjects.change(reader, id, body, await authorOf(deps, context), [body.version]);
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "PRECONDITION_FAILED") throw error;
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

/** The name of the key that sends the request, which the object keeps when the key is gone. */
export async function authorOf(
  { credentials }: { readonly credentials: Pick<CredentialStore, "findKey"> },
  { organizationId, credentialId }: Context,
): Promise<string> {
  return (await credentials.findKey(organizationId, credentialId))?.name ?? "";
}

/** The objects that the caller of a request may see. */
export function readerOf({ organizationId, credentialId }: Context): SavedObjectReader {
  return { organizationId, keyId: credentialId };
}
