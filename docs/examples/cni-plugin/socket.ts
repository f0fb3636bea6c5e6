import { lstatSync } from 'node:fs'

/** What a shim tells the daemon, as the first line. Everything after it was on stdin. */
export interface ShimCall {
  readonly env: { readonly [name: string]: string | undefined }
  /** Whether `CNI_NETNS` is the network namespace of the shim. The daemon can be in another one. */
  readonly isOwnNamespace: boolean
}

/** What a daemon answers: an answer of the plugin, or that it has too many calls. */
export type DaemonAnswer = { readonly stdout: string; readonly exitCode: number } | { readonly busy: true }

/**
 * Why a path is not the socket of a daemon of this user. `undefined`: it is, or can be. Anyone else
 * could answer there.
 */
export function socketProblem(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return `${path} does not exist`
  if (!found.isSocket()) return `${path} is not a socket`
  const own = process.geteuid?.() ?? found.uid
  if (found.uid !== own) return `${path} is owned by the user ${found.uid}, not ${own}`
  return (found.mode & 0o022) === 0 ? undefined : `other users can write to ${path}`
}
