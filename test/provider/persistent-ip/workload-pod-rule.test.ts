import { VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { unwrap } from 'ipam-kit/errors'
import { ObjectCache } from 'ipam-kit/plan'
import { vmPodRule, type WorkloadPodRuleOptions, workloadPodRule } from 'ipam-kit/provider/persistent-ip'
import { answerReview, type ReviewReader, type ReviewRule } from 'ipam-kit/provider/webhook'
import { memoryStore } from 'ipam-kit/store/memory'
import { expect, test } from 'vitest'
import { ovn } from './definitions.js'

const nad = (namespace: string, name: string, config: unknown) => ({
  ...{ apiVersion: 'k8s.cni.cncf.io/v1', kind: 'NetworkAttachmentDefinition', metadata: { namespace, name } },
  spec: { config: typeof config === 'string' ? config : JSON.stringify(config) },
})
const sticky = { name: 'lab', allowPersistentIPs: true }
const machine = {
  ...{ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', metadata: { namespace: 'ns1', name: 'vm1' } },
  spec: { networks: [{ name: 'x', multus: { networkName: 'a' } }] },
}
const NETWORKS = 'k8s.v1.cni.cncf.io/networks'
const OWN = 'k8s.ovn.org/primary-udn-ipamclaim'
const OPTED_IN = { 'ipam-kit.dev/persistent-ips': 'true' }

async function filledStore(...more: readonly ReturnType<typeof nad>[]) {
  const store = memoryStore({ now: () => 0, kinds: [VirtualMachineInstance.info, NetworkAttachmentDefinition.info] })
  const own = [nad('ns1', 'a', sticky), nad('ns2', 'a', sticky), nad('ns1', 'plain', { name: 'plain' })]
  for (const object of [...own, ...more, machine]) unwrap(await store.create(object))
  return store
}

interface Asked {
  readonly networks?: unknown
  readonly template?: string
  readonly name?: string
  readonly labels?: object
  readonly annotations?: object
  readonly operation?: string
  readonly subResource?: string
}

async function answer(reader: ReviewReader, asked: Asked, rules: readonly ReviewRule[] = [workloadPodRule()]) {
  const { networks, template = '{pod}.{network}', name = 'web-0', labels = OPTED_IN, annotations, ...more } = asked
  const text = typeof networks === 'string' ? networks : JSON.stringify(networks)
  const own = { 'ipam-kit.dev/claim-template': template, ...(networks !== undefined && { [NETWORKS]: text }) }
  const metadata = { ...(name !== '' && { name }), labels, annotations: { ...own, ...annotations } }
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: {} }
  const kind = { group: '', version: 'v1', kind: 'Pod' }
  const request = { uid: 'u', kind, namespace: 'ns1', operation: 'CREATE', object: pod, oldObject: pod, ...more }
  const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }
  const answered = await answerReview(review, reader, { rules })
  return answered.kind === 'AdmissionReview' ? answered.response : expect.unreachable()
}

/** The claims that a Pod gets, in the order of its interfaces; its own network last. */
async function claims(asked: Asked, reader?: ReviewReader): Promise<readonly string[]> {
  const { patch = '', warnings = [] } = await answer(reader ?? (await filledStore()), asked)
  const text = Buffer.from(patch, 'base64').toString()
  const operations: readonly { path: string; value: string }[] = text === '' ? [] : JSON.parse(text)
  const named = operations.flatMap(({ path, value }) => {
    if (path.endsWith(OWN.replace('/', '~1'))) return [value]
    const elements: readonly Record<string, string>[] = JSON.parse(value)
    return elements.flatMap((element) => element['ipam-claim-reference'] ?? [])
  })
  return [...named, ...warnings.map((warning) => `! ${warning}`)]
}

test.each<[string, Asked, readonly string[]]>([
  ['each network that honours claims, also of another namespace', { networks: 'plain,a' }, ['web-0.a']],
  [
    'interfaces as Multus numbers them',
    { networks: 'a,ns2/a@eth7', template: '{pod}-{interface}' },
    ['web-0-net1', 'web-0-eth7'],
  ],
  [
    'a name that another interface has',
    { networks: 'a,ns2/a' },
    ['web-0.a', '! two interfaces of the Pod have the claim web-0.a'],
  ],
  [
    'a claim that is named stays',
    {
      networks: [
        { name: 'a', 'ipam-claim-reference': 'mine' },
        { name: 'a', namespace: 'ns2' },
      ],
    },
    ['mine', 'web-0.a'],
  ],
  ['a definition that does not exist', { networks: 'b' }, ['! NetworkAttachmentDefinition b does not exist']],
  ['a Pod without a name', { networks: 'a', name: '' }, [expect.stringMatching(/^! "\.a": /) as never]],
  ['a name that is refused', { networks: 'a', template: '{pod}_{x}' }, [expect.stringMatching(/^! "web-0_\{x\}": /)]],
  ['a Pod without the label', { networks: 'a', labels: {} }, []],
  ['a deletion', { networks: 'a', operation: 'DELETE' }, []],
  ['a part of a Pod', { networks: 'a', operation: 'UPDATE', subResource: 'status' }, []],
])('names the claims of a Pod of a workload: %s', async (_, asked, wanted) => {
  expect(await claims(asked)).toEqual(wanted)
})

test('names the claim of the primary network, unless the Pod does', async () => {
  const store = await filledStore(nad('ns1', 'nad1', ovn({ role: 'primary', allowPersistentIPs: true })))
  expect(await claims({}, store)).toEqual(['web-0.nad1'])
  expect(await claims({ template: '{pod}.{interface}' }, store)).toEqual(['web-0.primary'])
  expect(await claims({ annotations: { [OWN]: 'mine' } }, store)).toEqual([])
})

test('an element that cannot be read is refused, and a look-up that fails is answered by the options', async () => {
  expect(await answer(await filledStore(), { networks: '[{' })).toMatchObject({ allowed: false, status: { code: 400 } })
  const of = (options: WorkloadPodRuleOptions) =>
    answer(new ObjectCache(), { networks: 'a' }, [workloadPodRule(options)])
  expect(await of({})).toMatchObject({ allowed: true, warnings: [expect.stringContaining('cannot be looked up')] })
  expect(await of({ failurePolicy: 'Fail' })).toMatchObject({ allowed: false, status: { code: 500 } })
})

test('two rules that patch one path are refused', async () => {
  const asked = { networks: 'a', annotations: { 'kubevirt.io/domain': 'vm1' } }
  const both = await answer(await filledStore(), asked, [vmPodRule(), workloadPodRule()])
  expect(both).toMatchObject({
    allowed: false,
    status: { code: 500, message: expect.stringContaining(NETWORKS.replace('/', '~1')) },
  })
  const { annotations, ...plain } = asked
  expect(await answer(await filledStore(), plain, [vmPodRule(), workloadPodRule()])).toMatchObject({ allowed: true })
})

test('a rule that is off allows every Pod as it is, and looks nothing up', async () => {
  const asked = { networks: '[{', annotations: { 'kubevirt.io/domain': 'vm1' } }
  const off = [vmPodRule({ enabled: false, failurePolicy: 'Fail' }), workloadPodRule({ enabled: false })]
  expect(await answer(new ObjectCache(), asked, off)).toEqual({ uid: 'u', allowed: true })
})
