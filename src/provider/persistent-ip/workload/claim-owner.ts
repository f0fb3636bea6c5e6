import { subdomainProblem } from '../../../crd/meta/names.js'
import { groupOf, type KindInfo } from '../../../crd/meta/object.js'
import { check } from '../../../errors/check.js'
import { INVALID_OBJECT } from '../../../errors/definitions.js'
import { failWith } from '../../../errors/failure.js'
import { ok, type Result } from '../../../errors/index.js'

/**
 * Annotation of a Pod: the owners of the claims that it names, as `StatefulSet.apps/web`. Several
 * owners are separated by commas. An owner of the core group has no group: `Service/web`. A claim
 * has it too, with the owners that it was made for.
 */
export const CLAIM_OWNER_ANNOTATION = 'ipam-kit.dev/claim-owner'
/** Finalizer on a claim of a workload: the claim stays while its owners exist or a Pod names it. */
export const CLAIM_OWNER_FINALIZER = 'ipam-kit.dev/claim-owner'
/**
 * Annotation of a Pod: the names of its claims, such as `{pod}.{network}`. `workloadPodRule` reads
 * it.
 */
export const CLAIM_TEMPLATE_ANNOTATION = 'ipam-kit.dev/claim-template'
/** Label of the Pods that get claims, with the value `true`. */
export const PERSISTENT_IPS_LABEL = 'ipam-kit.dev/persistent-ips'

/** An owner that a Pod names. It is in the namespace of the Pod. */
export interface WorkloadOwner {
  readonly kind: KindInfo
  readonly name: string
}

/** The maximum number of owners of one claim. */
const MAX_OWNERS = 8

/**
 * The owners that an annotation names. It is input of a tenant: a kind that is not listed is
 * refused. O(length).
 *
 * @param kinds the kinds that can own claims
 * @returns the failure `INVALID_OBJECT` for a text of another form, for a kind that is not listed,
 * for a name that an API server refuses, and for more than 8 owners
 * @example
 * import { StatefulSet } from 'ipam-kit/crd/core'
 * const read = readClaimOwners('StatefulSet.apps/web', [StatefulSet.info])
 * read.ok && read.value.map(({ kind, name }) => [kind.plural, name]) // [['statefulsets', 'web']]
 */
export function readClaimOwners(
  annotation: string,
  kinds: readonly KindInfo[],
): Result<readonly WorkloadOwner[], 'INVALID_OBJECT'> {
  check('readClaimOwners', 'annotation', annotation, 'text')
  check('readClaimOwners', 'kinds', kinds, ['list', ['open', { apiVersion: 'text', kind: 'text' }]])
  const texts = annotation.split(',')
  if (texts.length > MAX_OWNERS) return wrong(`${texts.length} owners, and a claim has up to ${MAX_OWNERS}`)
  const owners = new Map<string, WorkloadOwner>()
  for (const text of texts.map((each) => each.trim())) {
    const slash = text.indexOf('/')
    if (slash < 0) return wrong(`expected kind.group/name, got ${JSON.stringify(text.slice(0, 100))}`)
    const [named, name] = [text.slice(0, slash), text.slice(slash + 1)]
    const kind = kinds.find((each) => nameOf(each) === named)
    if (kind === undefined) {
      const allowed = kinds.map(nameOf).join(', ')
      return wrong(`the kind ${JSON.stringify(named.slice(0, 100))} is not one of ${allowed}`)
    }
    const problem = subdomainProblem(name)
    if (problem !== undefined) return wrong(`${JSON.stringify(name.slice(0, 100))}: ${problem}`)
    owners.set(text, { kind, name })
  }
  return ok([...owners.values()])
}

function nameOf({ apiVersion, kind }: Pick<KindInfo, 'apiVersion' | 'kind'>): string {
  const group = groupOf(apiVersion)
  return group === '' ? kind : `${kind}.${group}`
}

/** An owner as the annotation names it: `StatefulSet.apps/web`. */
export function ownerName(kind: Pick<KindInfo, 'apiVersion' | 'kind'>, name: string): string {
  return `${nameOf(kind)}/${name}`
}

function wrong(message: string) {
  const issues = [{ path: CLAIM_OWNER_ANNOTATION, message }]
  return failWith(INVALID_OBJECT, { kind: 'annotation', name: CLAIM_OWNER_ANNOTATION, issues })
}
