import { Pod } from '../../../crd/core/index.js'
import { VirtualMachineInstance, VM_POD_ANNOTATION } from '../../../crd/kubevirt/index.js'
import type { Admission } from '../../../crd/meta/index.js'
import { NetworkAttachmentDefinition } from '../../../crd/multinet/index.js'
import { errorText } from '../../../errors/cause.js'
import { check, type KindOf } from '../../../errors/check.js'
import { modelWatch, type Watch } from '../../../plan/index.js'
import type { ReviewLookups, ReviewRule } from '../../webhook/index.js'
import { secondaryDefinitions } from './vm-claims.js'
import { admitVMPod, type VMPodObjects, type VMPodOptions } from './vm-pod.js'

const INSTANCES: Watch<VirtualMachineInstance> = /* @__PURE__ */ modelWatch(VirtualMachineInstance)
/** The definitions of networks, by their namespace. */
export const DEFINITIONS: Watch<NetworkAttachmentDefinition> = /* @__PURE__ */ modelWatch(NetworkAttachmentDefinition, {
  indexes: { namespace: ({ metadata }: NetworkAttachmentDefinition) => [metadata.namespace ?? ''] },
})

export interface VMPodRuleOptions extends VMPodOptions {
  /**
   * Whether claims are named. False: every Pod is allowed as it is, and no definition is read.
   * Default true.
   */
  readonly enabled?: boolean | undefined
}

const OPTIONS: KindOf<VMPodRuleOptions> = {
  enabled: 'flag?',
  failurePolicy: ['one?', { Ignore: 1, Fail: 1 }],
  defaultNetworkNamespace: 'text?',
  sticky: 'function?',
}

/**
 * {@link admitVMPod} as a rule of `answerReview`, with its look-ups. Pods without a virtual machine
 * need none. With the objects of a controller no look-up costs a request: its planners have to
 * watch VirtualMachineInstance and NetworkAttachmentDefinition, without a selector. With a store
 * the definitions of the namespace are listed. A look-up that fails is answered by `failurePolicy`,
 * as a virtual machine that is not known.
 *
 * @throws IpamError `INVALID_ARGUMENT` for an option that does not exist
 * @example
 * import { answerReview } from 'ipam-kit/provider/webhook'
 * import { memoryStore } from 'ipam-kit/store/memory'
 * const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: {} }
 * const kind = { group: '', version: 'v1', kind: 'Pod' }
 * const request = { uid: '705ab4f5', kind, namespace: 'a', operation: 'CREATE', object: pod }
 * const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }
 * const { response } = await answerReview(review, memoryStore({ now: () => 0 }), { rules: [vmPodRule()] })
 * response // { uid: '705ab4f5', allowed: true }
 */
export function vmPodRule(options: VMPodRuleOptions = {}): ReviewRule {
  check('vmPodRule', 'options', options, OPTIONS)
  const { enabled = true, ...rest } = options
  return {
    model: Pod,
    async admit(request, lookups) {
      if (!enabled || request.operation === 'DELETE' || request.subResource) return { allowed: true, warnings: [] }
      const { operation, object, namespace = object.metadata.namespace ?? '' } = request
      const metadata = { ...object.metadata, namespace }
      const domain = metadata.annotations?.[VM_POD_ANNOTATION]
      const objects = domain === undefined ? NOTHING : await lookedUp(namespace, domain, lookups)
      if ('problem' in objects) return unknown(objects.problem, rest)
      return admitVMPod({ operation, pod: { metadata } }, objects, rest).admission
    },
  }
}

const NOTHING: VMPodObjects = { instance: () => undefined, definition: () => undefined, definitionsIn: () => [] }

/** The answer where a look-up has failed. */
export function unknown(problem: string, { failurePolicy }: Pick<VMPodOptions, 'failurePolicy'>): Admission {
  if (failurePolicy !== 'Fail') return { allowed: true, warnings: [problem] }
  return { allowed: false, code: 500, message: problem, errors: [] }
}

/** The objects of one Pod, or why a look-up has failed. */
async function lookedUp(
  namespace: string,
  name: string,
  lookups: ReviewLookups,
): Promise<VMPodObjects | { readonly problem: string }> {
  try {
    const instance = await lookups.get(INSTANCES, { name, namespace })
    const { objects: own } = await lookups.by(DEFINITIONS, 'namespace', namespace, namespace)
    const far = (instance === undefined ? [] : secondaryDefinitions(instance)).filter(
      (ref) => ref.namespace !== namespace,
    )
    const others = await Promise.all(far.map((ref) => lookups.get(DEFINITIONS, ref)))
    const all = [...own, ...others.filter((each) => each !== undefined)]
    return {
      instance: () => instance,
      definition: (space, its) => all.find(({ metadata }) => metadata.namespace === space && metadata.name === its),
      definitionsIn: () => own,
    }
  } catch (error) {
    return { problem: `the virtual machine of the Pod cannot be looked up: ${errorText(error)}` }
  }
}
