/** Users, roles and grants of a service, as statements change them: plain data, which is stored and sent. */

/** A name, or with `prefix` every name that begins with it. */
export type NamePattern = { readonly name: string; readonly prefix?: boolean };

/** One privilege on one object. */
export type PrivilegeOn = {
  /** In the engine's spelling, such as `ALTER UPDATE`. */
  readonly privilege: string;
  /** Absent: all columns. */
  readonly columns?: readonly string[];
  /** Absent: every database. */
  readonly database?: NamePattern;
  /** Absent: every table. */
  readonly table?: NamePattern;
  /** A source or table engine, for privileges that are about one. */
  readonly object?: string;
};

/** Grants and revocations apply in their order, as in the engine. */
export type Grant = PrivilegeOn & { readonly revoked?: boolean };

export type AccessRights = {
  readonly grants: readonly Grant[];
  /** Names of the granted roles. */
  readonly roles: readonly string[];
};

export const noRights: AccessRights = { grants: [], roles: [] };

/** What to do about names that are there, or are not. */
export type IfPresent = "fail" | "skip" | "replace";

/** A statement about users, roles or grants. All names of one statement change together or not at all. */
export type AccessChange =
  | {
      readonly type: "create users";
      readonly names: readonly string[];
      readonly ifPresent: IfPresent;
      /** Lower-case hex. */
      readonly passwordSha256: string;
    }
  | {
      readonly type: "set password";
      readonly names: readonly string[];
      readonly ifMissing: "fail" | "skip";
      readonly passwordSha256: string;
    }
  | { readonly type: "create roles"; readonly names: readonly string[]; readonly ifPresent: IfPresent }
  | {
      readonly type: "drop users" | "drop roles";
      readonly names: readonly string[];
      readonly ifMissing: "fail" | "skip";
    }
  | {
      readonly type: "grant" | "revoke";
      readonly privileges: readonly PrivilegeOn[];
      readonly names: readonly string[];
    }
  /** Takes every privilege and no role. */
  | { readonly type: "revoke all"; readonly names: readonly string[] }
  | {
      readonly type: "grant roles" | "revoke roles";
      readonly roles: readonly string[];
      readonly names: readonly string[];
    };
