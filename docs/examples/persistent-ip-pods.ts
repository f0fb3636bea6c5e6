import { VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { unwrap } from 'ipam-kit/errors'
import { networkOfDefinitions, podAttachments, readNetwork, vmPodRule } from 'ipam-kit/provider/persistent-ip'
import { answerReview } from 'ipam-kit/provider/webhook'
import { memoryStore } from 'ipam-kit/store/memory'

const store = memoryStore({
  now: Date.now,
  kinds: [VirtualMachineInstance.info, NetworkAttachmentDefinition.info],
})

const config = {
  name: 'tenant-blue',
  type: 'ovn-k8s-cni-overlay',
  netAttachDefName: 'shop/blue',
  topology: 'layer2',
  subnets: '10.20.0.0/24',
  allowPersistentIPs: true,
}
const nad = {
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  metadata: { name: 'blue', namespace: 'shop' },
  spec: { config: JSON.stringify(config) },
}
const network = networkOfDefinitions([{ definition: unwrap(readNetwork(nad)) }])
console.log(`claims of ${network.definition.name}: ${network.definition.claims}`)
const routed = readNetwork({ ...nad, spec: { config: JSON.stringify({ ...config, topology: 'layer3' }) } })
if (!routed.ok) console.log(routed.failure.message)

const machine = {
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachineInstance',
  metadata: { name: 'db', namespace: 'shop' },
  spec: { networks: [{ name: 'blue', multus: { networkName: 'blue' } }] },
}
for (const object of [nad, machine]) unwrap(await store.create(object))

const annotations = { 'kubevirt.io/domain': 'db', 'k8s.v1.cni.cncf.io/networks': 'blue' }
const metadata = { name: 'virt-launcher-db', namespace: 'shop', annotations }
const review = {
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: '705ab4f5',
    kind: { group: '', version: 'v1', kind: 'Pod' },
    namespace: 'shop',
    operation: 'CREATE',
    object: { apiVersion: 'v1', kind: 'Pod', metadata, spec: {} },
  },
}
const { response } = await answerReview(review, store, { rules: [vmPodRule({ failurePolicy: 'Ignore' })] })
if ('patch' in response) console.log(atob(response.patch ?? ''))

const networks = '[{"name":"blue","ipam-claim-reference":"db.blue"}]'
const pod = { metadata: { ...metadata, annotations: { 'k8s.v1.cni.cncf.io/networks': networks } }, spec: {} }
for (const { key, claim } of unwrap(podAttachments(pod, network)).attachments)
  console.log(`${key} uses the claim ${claim}`)
