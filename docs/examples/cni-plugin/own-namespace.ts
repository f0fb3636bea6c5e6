import { statSync } from 'node:fs'

/**
 * Whether a path is the network namespace of this process. A path that does not exist is not: an
 * IPAM plugin does nothing in the namespace.
 */
export function isOwnNamespace(path: string): boolean {
  const [given, own] = [path, '/proc/self/ns/net'].map((each) => statSync(each, { throwIfNoEntry: false }))
  return given !== undefined && own !== undefined && given.dev === own.dev && given.ino === own.ino
}
