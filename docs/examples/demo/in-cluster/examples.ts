import { fileURLToPath } from 'node:url'
import { ClusterApi, Meta } from 'ipam-kit/crd'
import type { Finding } from './finding.js'
import type { Snapshot } from './snapshot.js'

const { apiVersion, kind } = ClusterApi.IPAddressClaim.info

/**
 * What is taken when no files are named: the examples of the project, and what is expected to come
 * of them.
 */
export const examples = {
  folder: fileURLToPath(new URL('../../manifests', import.meta.url)),
  /** One of the claims of the pool that runs dry. */
  deletions: [{ apiVersion, kind, namespace: 'office', name: 'printer-2' }] as readonly Meta.ObjectRef[],
  /** Every claim is bound at the end, except: */
  notBound: new Map([
    ['factory/blue-1', 'Paused'],
    ['office/vip', 'ForeignPool'],
  ]) as ReadonlyMap<string, string>,
  refused: ['InClusterIPPool office/mistyped'] as readonly string[],
}

/**
 * What came out otherwise than expected of the examples in a store that lasts: there the pool that
 * runs dry stays dry, others may have deleted and added what they like, and only of what the
 * manifests name something is expected.
 */
export function lastingSurprises(
  { claims, pools }: Snapshot,
  findings: readonly Finding[],
  applied: ReadonlyMap<string, unknown>,
): readonly string[] {
  const expected = claims
    .filter(({ namespace, name }) => applied.has(Meta.formatRef({ kind, namespace, name })))
    .filter(({ pool, reason }) => !(pool === 'InClusterIPPool/printers' && reason === 'PoolExhausted'))
  const kept = examples.deletions.map((ref) => `${Meta.formatRef(ref)} is still there`)
  return surprises({ claims: expected, pools }, findings).filter((line) => !kept.includes(line))
}

/** What came out otherwise than expected of the examples; nothing if all is well. */
export function surprises({ claims }: Snapshot, findings: readonly Finding[]): readonly string[] {
  const found = new Map(claims.map((claim) => [`${claim.namespace}/${claim.name}`, claim]))
  const wrong = claims
    .map((claim) => ({ claim, path: `${claim.namespace}/${claim.name}` }))
    .filter(({ claim, path }) => (claim.phase === 'Bound' ? undefined : claim.reason) !== examples.notBound.get(path))
    .map(({ claim, path }) => `claim ${path} is ${claim.phase}, not ${examples.notBound.get(path) ?? 'bound'}`)
  const missing = [...examples.notBound.keys()].filter((path) => !found.has(path)).map((path) => `no claim ${path}`)
  const kept = examples.deletions
    .filter((ref) => found.has(`${ref.namespace}/${ref.name}`))
    .map((ref) => `${Meta.formatRef(ref)} is still there`)
  const mistakes = findings.filter(({ action }) => action !== 'skipped' && action !== 'warning')
  const refused = mistakes.filter(({ object = '' }) => !examples.refused.includes(object)).map(({ where }) => where)
  const admitted = examples.refused.filter((object) => mistakes.every((finding) => finding.object !== object))
  return [
    ...wrong,
    ...missing,
    ...kept,
    ...refused.map((where) => `a mistake in ${where}`),
    ...admitted.map((object) => `${object} is not refused`),
  ]
}
