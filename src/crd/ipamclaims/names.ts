import { check, type KindOf } from '../../errors/check.js'
import { INVALID_CLAIM_NAME } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { ok, type Result } from '../../errors/index.js'
import { subdomainProblem } from '../meta/names.js'

/** The only version. */
export const API_VERSION = 'k8s.cni.cncf.io/v1alpha1'

/** Finalizer on a claim of a VM, of KubeVirt: the claim stays while the VM exists. */
export const VM_CLAIM_FINALIZER = 'kubevirt.io/persistent-ipam'
/** Label of a claim of a VM, of KubeVirt: the name of the VM. */
export const VM_LABEL = 'kubevirt.io/vm'
/** Annotation of a Pod: the claim of its primary network. OVN-Kubernetes has deprecated it. */
export const PRIMARY_CLAIM_ANNOTATION = 'k8s.ovn.org/primary-udn-ipamclaim'

/** What the name of a claim of a VM is made of. */
export interface VMClaimNameParts {
  /** The name of the VM. */
  readonly vm: string
  /** The name of the network in the spec of the VM, not that of its NetworkAttachmentDefinition. */
  readonly network: string
}

const PARTS: KindOf<VMClaimNameParts> = { vm: 'text', network: 'text' }

const MAX_LENGTH = 253
/**
 * What upstream keeps of a name. A backslash with any character stays between two kept texts: the
 * dot of its pattern is escaped twice.
 */
const KEPT = /[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*/gu

/**
 * The name of the claim of a network of a VM, as ipam-extensions of KubeVirt makes it: the two
 * names in lower case, cut into runs of letters, digits and inner dashes, and those joined by dots.
 * O(length).
 *
 * Different parts can have one name: the networks `a_b` and `a.b`, the VM `a.b` with the network
 * `c` and the VM `a` with the network `b.c`, and names with the same first 253 characters.
 *
 * @returns the failure `INVALID_CLAIM_NAME` for a name that an API server refuses: an empty one, or
 * one that is cut behind a dot or a dash. It has the name as upstream makes it
 * @example
 * vmClaimName({ vm: 'vm1', network: 'random_net' }) // { ok: true, value: 'vm1.random.net' }
 */
export function vmClaimName(parts: VMClaimNameParts): Result<string, 'INVALID_CLAIM_NAME'> {
  check('vmClaimName', 'parts', parts, PARTS)
  const runs = `${parts.vm}.${parts.network}`.toLowerCase().match(KEPT) ?? []
  const name = runs.join('.').slice(0, MAX_LENGTH)
  const problem = subdomainProblem(name)
  return problem === undefined ? ok(name) : failWith(INVALID_CLAIM_NAME, { name, problem })
}
