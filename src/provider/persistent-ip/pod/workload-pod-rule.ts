import { Pod } from '../../../crd/core/index.js'
import { PRIMARY_CLAIM_ANNOTATION } from '../../../crd/ipamclaims/index.js'
import { type Admission, annotationsPatch } from '../../../crd/meta/index.js'
import { subdomainProblem } from '../../../crd/meta/names.js'
import type { KubeObject } from '../../../crd/meta/object.js'
import { labelOf } from '../../../crd/meta/object.js'
import {
  DEFAULT_NETWORK_ANNOTATION,
  NETWORKS_ANNOTATION,
  type NetworkAttachmentDefinition,
  type NetworkSelection,
  readNetworkSelection,
} from '../../../crd/multinet/index.js'
import { errorText } from '../../../errors/cause.js'
import { check, type KindOf } from '../../../errors/check.js'
import type { ReviewLookups, ReviewRule } from '../../webhook/index.js'
import { readNetwork } from '../network/read-network.js'
import { CLAIM_TEMPLATE_ANNOTATION, PERSISTENT_IPS_LABEL } from '../workload/claim-owner.js'
import { namedElements, sharedInterfaces } from './named-elements.js'
import { primaryIn } from './vm-claims.js'
import { DEFINITIONS, unknown } from './vm-pod-rule.js'

export interface WorkloadPodRuleOptions {
  /** Whether claims are named. False: every Pod is allowed as it is. Default true. */
  readonly enabled?: boolean | undefined
  /**
   * The answer where a look-up fails. `Ignore`, the default: the Pod is allowed as it is, with a
   * warning. `Fail`: it is refused with code 500.
   */
  readonly failurePolicy?: 'Ignore' | 'Fail' | undefined
}

const OPTIONS: KindOf<WorkloadPodRuleOptions> = { enabled: 'flag?', failurePolicy: ['one?', { Ignore: 1, Fail: 1 }] }

/**
 * A rule of `answerReview` that names the claims of a Pod of a workload: the template of a
 * StatefulSet has one text for all its Pods. The Pod has the label `ipam-kit.dev/persistent-ips`
 * and the annotation `ipam-kit.dev/claim-template`, such as `{pod}.{network}`. Each interface whose
 * network honours claims and that names no claim gets this name. The parts are:
 *
 * - `{pod}`: the name of the Pod, as `web-0`
 * - `{network}`: the name of the definition of the network
 * - `{interface}`: the name of the interface, or `net1`, `net2` and so on, as Multus numbers them;
 *   `primary` for the primary network of the namespace
 *
 * A name that an API server refuses, and one that another interface of the Pod has, is left out
 * with a warning. Look-ups as for {@link vmPodRule}, of definitions alone.
 *
 * @throws IpamError `INVALID_ARGUMENT` for an option that does not exist
 * @example
 * import { answerReview } from 'ipam-kit/provider/webhook'
 * import { memoryStore } from 'ipam-kit/store/memory'
 * const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web-0' }, spec: {} }
 * const kind = { group: '', version: 'v1', kind: 'Pod' }
 * const request = { uid: '705ab4f5', kind, namespace: 'a', operation: 'CREATE', object: pod }
 * const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }
 * const store = memoryStore({ now: () => 0 })
 * const { response } = await answerReview(review, store, { rules: [workloadPodRule()] })
 * response // { uid: '705ab4f5', allowed: true }
 */
export function workloadPodRule(options: WorkloadPodRuleOptions = {}): ReviewRule {
  check('workloadPodRule', 'options', options, OPTIONS)
  const { enabled = true, failurePolicy } = options
  return {
    model: Pod,
    async admit(request, lookups) {
      if (!enabled || request.operation === 'DELETE' || request.subResource) return AS_IT_IS
      const { object, namespace = object.metadata.namespace ?? '' } = request
      const { annotations, labels } = object.metadata
      const template = annotations?.[CLAIM_TEMPLATE_ANNOTATION]
      if (template === undefined || labelOf(labels, PERSISTENT_IPS_LABEL) !== 'true') return AS_IT_IS
      try {
        return await namedClaims(object, namespace, template, lookups)
      } catch (error) {
        return unknown(`the networks of the Pod cannot be looked up: ${errorText(error)}`, { failurePolicy })
      }
    },
  }
}

const AS_IT_IS: Admission = { allowed: true, warnings: [] }

/** An interface that may get the name of a claim. */
interface Unnamed {
  readonly nad: NetworkAttachmentDefinition | undefined
  readonly name: string
  readonly interface: string
}

async function namedClaims(
  pod: KubeObject,
  namespace: string,
  template: string,
  lookups: ReviewLookups,
): Promise<Admission> {
  const annotations = pod.metadata.annotations ?? {}
  const selection = readNetworkSelection(annotations[NETWORKS_ANNOTATION] ?? '', namespace)
  if (!selection.ok) {
    const message = 'failed to parse pod network selection elements'
    return { allowed: false, code: 400, message, errors: [], warnings: [selection.failure.message] }
  }
  const { objects } = await lookups.by(DEFINITIONS, 'namespace', namespace, namespace)
  const warnings = [...sharedInterfaces(selection.value)]
  const taken = new Set(selection.value.flatMap(({ ipamClaimReference: claim }) => claim ?? []))
  const nameOf = (one: Unnamed) => claimName(one, pod.metadata.name, template, taken, warnings)
  const all = [...objects, ...(await definitionsOf(selection.value, namespace, lookups))]
  const names = selection.value.map((element, index) =>
    element.ipamClaimReference === undefined ? nameOf(unnamed(index, element, all)) : undefined,
  )
  const text = namedElements(selection.value, names)
  const primary = ownPrimary(annotations, namespace, objects)
  const own = primary && nameOf(primary)
  const patch = annotationsPatch(pod, {
    ...(text !== undefined && { [NETWORKS_ANNOTATION]: text }),
    ...(own !== undefined && { [PRIMARY_CLAIM_ANNOTATION]: own }),
  })
  return { allowed: true, warnings, ...(patch.length > 0 && { patch }) }
}

/** The definitions of other namespaces that elements name, each looked up once. */
async function definitionsOf(
  elements: readonly NetworkSelection[],
  own: string,
  lookups: ReviewLookups,
): Promise<readonly NetworkAttachmentDefinition[]> {
  const far = new Map(
    elements.filter(({ namespace }) => namespace !== own).map((ref) => [`${ref.namespace}/${ref.name}`, ref]),
  )
  const found = await Promise.all(
    [...far.values()].map(({ namespace, name }) => lookups.get(DEFINITIONS, { namespace, name })),
  )
  return found.filter((each) => each !== undefined)
}

function unnamed(
  index: number,
  { namespace, name, interface: nic = `net${index + 1}` }: NetworkSelection,
  definitions: readonly NetworkAttachmentDefinition[],
): Unnamed {
  const nad = definitions.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name)
  return { nad, name, interface: nic }
}

/** The primary network of the namespace, unless the Pod names a claim for it. */
function ownPrimary(
  annotations: { readonly [key: string]: string },
  namespace: string,
  objects: readonly NetworkAttachmentDefinition[],
): Unnamed | undefined {
  if (annotations[PRIMARY_CLAIM_ANNOTATION] !== undefined) return undefined
  if (annotations[DEFAULT_NETWORK_ANNOTATION] !== undefined) return undefined
  const { definition } = primaryIn(namespace, { definitionsIn: () => objects })
  const nad = objects.find(({ metadata }) => `${metadata.namespace}/${metadata.name}` === definition?.nad)
  return nad && { nad, name: nad.metadata.name, interface: 'primary' }
}

/** The claim of an interface; `undefined`: it gets none. */
function claimName(
  { nad, name: network, interface: nic }: Unnamed,
  pod: string,
  template: string,
  taken: Set<string>,
  warnings: string[],
): string | undefined {
  const read = nad && readNetwork(nad)
  if (read === undefined) return warned(warnings, `NetworkAttachmentDefinition ${network} does not exist`)
  if (!read.ok) return warned(warnings, read.failure.message)
  if (read.value.claims !== 'honoured') return undefined
  const parts: { readonly [part: string]: string } = { pod: pod ?? '', network, interface: nic }
  const claim = template.replaceAll(/\{(pod|network|interface)\}/g, (_, part: string) => parts[part] ?? '')
  const problem = subdomainProblem(claim)
  if (problem !== undefined) return warned(warnings, `${JSON.stringify(claim.slice(0, 260))}: ${problem}`)
  if (taken.has(claim)) return warned(warnings, `two interfaces of the Pod have the claim ${claim}`)
  taken.add(claim)
  return claim
}

function warned(warnings: string[], text: string): undefined {
  warnings.push(text)
  return undefined
}
