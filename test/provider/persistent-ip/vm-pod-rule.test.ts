import { VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { unwrap } from 'ipam-kit/errors'
import { ObjectCache } from 'ipam-kit/plan'
import { type VMPodOptions, vmPodRule } from 'ipam-kit/provider/persistent-ip'
import { answerReview, type ReviewReader } from 'ipam-kit/provider/webhook'
import { memoryStore } from 'ipam-kit/store/memory'
import { expect, test } from 'vitest'

const nad = (namespace: string, name: string) => ({
  ...{ apiVersion: 'k8s.cni.cncf.io/v1', kind: 'NetworkAttachmentDefinition', metadata: { namespace, name } },
  spec: { config: '{"name":"lab","allowPersistentIPs":true}' },
})
const instance = {
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachineInstance',
  metadata: { namespace: 'ns1', name: 'vm1' },
  spec: {
    networks: [
      { name: 'x', multus: { networkName: 'a' } },
      { name: 'y', multus: { networkName: 'ns2/a' } },
    ],
  },
}
const NETWORKS = 'k8s.v1.cni.cncf.io/networks'

async function filledStore() {
  const store = memoryStore({ now: () => 0, kinds: [VirtualMachineInstance.info, NetworkAttachmentDefinition.info] })
  for (const object of [nad('ns1', 'a'), nad('ns2', 'a'), nad('ns3', 'a'), instance]) unwrap(await store.create(object))
  return store
}

async function answer(reader: ReviewReader, annotations: object, options?: VMPodOptions, more: object = {}) {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { annotations }, spec: {} }
  const kind = { group: '', version: 'v1', kind: 'Pod' }
  const request = { uid: 'u', kind, namespace: 'ns1', operation: 'CREATE', object: pod, oldObject: pod, ...more }
  const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }
  const answered = await answerReview(review, reader, { rules: [vmPodRule(options)] })
  if (answered.kind !== 'AdmissionReview') return expect.unreachable()
  return answered.response
}
const patchIn = (patch: string | undefined) => Buffer.from(patch ?? '', 'base64').toString()
const ofVM = { 'kubevirt.io/domain': 'vm1', [NETWORKS]: 'a,ns2/a' }

test('a Pod of a virtual machine gets the claims of its networks, in its own namespace and in others', async () => {
  const response = await answer(await filledStore(), ofVM)
  expect(response.patchType).toBe('JSONPatch')
  expect(patchIn(response.patch).match(/vm1\.[xy]/g)).toEqual(['vm1.x', 'vm1.y'])
})

test('a Pod of no virtual machine, a deletion and a part of a Pod need no look-up', async () => {
  const nothing = new ObjectCache()
  const plain = { uid: 'u', allowed: true }
  expect(await answer(nothing, {})).toEqual(plain)
  expect(await answer(nothing, ofVM, {}, { operation: 'DELETE' })).toEqual(plain)
  expect(await answer(nothing, ofVM, {}, { operation: 'UPDATE', subResource: 'status' })).toEqual(plain)
})

test('a look-up that fails is answered by the options', async () => {
  const ignored = await answer(new ObjectCache(), ofVM)
  expect(ignored).toMatchObject({ allowed: true, warnings: [expect.stringContaining('cannot be looked up')] })
  expect(await answer(new ObjectCache(), ofVM, { failurePolicy: 'Fail' })).toMatchObject({
    allowed: false,
    status: { code: 500 },
  })
})

test('a virtual machine that does not exist is answered by the options', async () => {
  const store = await filledStore()
  const other = { ...ofVM, 'kubevirt.io/domain': 'gone' }
  expect(await answer(store, other)).toMatchObject({ allowed: true, warnings: [expect.stringContaining('not found')] })
  expect(await answer(store, other, { failurePolicy: 'Fail' })).toMatchObject({
    status: { code: 500, message: expect.stringMatching(/^failed to access the VMI running in pod "ns1\/"/) },
  })
})

test('an instance of an earlier machine of the name is not known', async () => {
  const store = await filledStore()
  const { apiVersion, kind, metadata } = instance
  const { uid } = unwrap(await store.get({ apiVersion, kind, ...metadata })).metadata
  const admitted = async (owner: string | undefined, ofKind = kind, more = {}, options: VMPodOptions = {}) => {
    const ownerReferences = [{ apiVersion, kind: ofKind, name: 'vm1', uid: owner }]
    const object = { apiVersion: 'v1', kind: 'Pod', metadata: { annotations: ofVM, ownerReferences }, spec: {} }
    return answer(store, ofVM, options, { object, ...more })
  }
  expect(await admitted('another')).toMatchObject({ allowed: true, warnings: [expect.stringContaining('not found')] })
  const update = { operation: 'UPDATE' }
  expect(await admitted('another', kind, update, { failurePolicy: 'Fail' })).toEqual({ uid: 'u', allowed: true })
  for (const response of [await admitted(uid), await admitted('another', 'VirtualMachine')]) {
    expect(patchIn(response.patch)).toContain('vm1.x')
  }
})

test('an option that does not exist is refused', () => {
  expect(() => vmPodRule({ failurePolicy: 'Wait' } as never)).toThrow('vmPodRule: argument options.failurePolicy')
})
