/** Content of the credentials file in the data directory, which the server writes for the operator and for tools. */
export type FirstCredentials = {
  readonly baseUrl: string;
  readonly observabilityBaseUrl: string;
  /** The URL of the ClickHouse Cloud API, with `/v1`. */
  readonly cloudApiUrl: string;
  readonly organizationId: string;
  readonly keyId: string;
  readonly keySecret: string;
  readonly accessToken: string;
};
