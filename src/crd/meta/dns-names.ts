/** Names of most objects, and API groups: DNS subdomains of RFC 1123. Anchored, and without a limit of length. */
export const SUBDOMAIN_PATTERN = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'
