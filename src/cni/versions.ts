/** The versions of the CNI specification that this module reads and writes, oldest first. */
export const CNI_VERSIONS = /* @__PURE__ */ Object.freeze([
  '0.1.0',
  '0.2.0',
  '0.3.0',
  '0.3.1',
  '0.4.0',
  '1.0.0',
  '1.1.0',
] as const)

/** A version of the CNI specification. */
export type CniVersion = (typeof CNI_VERSIONS)[number]

/** The version of a configuration without `cniVersion`, as runtimes and plugins in Go read it. */
export const DEFAULT_VERSION: CniVersion = '0.1.0'

/** Whether a version has what came with `since`. */
export function isSince(version: CniVersion, since: CniVersion): boolean {
  return CNI_VERSIONS.indexOf(version) >= CNI_VERSIONS.indexOf(since)
}

/** Choices for checks of arguments. */
export const VERSION_CHOICES = {
  '0.1.0': 1,
  '0.2.0': 1,
  '0.3.0': 1,
  '0.3.1': 1,
  '0.4.0': 1,
  '1.0.0': 1,
  '1.1.0': 1,
} as const satisfies { readonly [version in CniVersion]: 1 }
