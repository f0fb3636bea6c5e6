/**
 * Names of most objects, and API groups: DNS subdomains of RFC 1123. Anchored, and without a limit
 * of length.
 */
export const SUBDOMAIN_PATTERN = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'

/** Kinds, as a reference names them. Anchored, and without a limit of length. */
export const KIND_PATTERN = '^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$'
