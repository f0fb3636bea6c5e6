import { VirtualMachine, VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import { crdManifest } from 'ipam-kit/crd/manifest'
import { installKinds } from '../blocks/ground.js'
import { Client } from '../controller/client.js'
import { type RealKubernetes, startKubernetes } from '../servers/kubernetes.js'
import { upstreamDefinitions } from '../whereabouts/ground.js'

/** The namespace of all workloads. */
export const NAMESPACE = 'shop'
const KUBEVIRT = `/apis/kubevirt.io/v1/namespaces/${NAMESPACE}`
const CNI = '/apis/k8s.cni.cncf.io'
export const MACHINES = `${KUBEVIRT}/virtualmachines`
export const INSTANCES = `${KUBEVIRT}/virtualmachineinstances`
export const CLAIMS = `${CNI}/v1alpha1/namespaces/${NAMESPACE}/ipamclaims`
export const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`
export const STATEFUL_SETS = `/apis/apps/v1/namespaces/${NAMESPACE}/statefulsets`
export const BLOCKS = '/apis/ipam-kit.dev/v1alpha1/ipblocks'
export const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations'

/** A definition of a network of OVN-Kubernetes: `namespace/name`, and what decides. */
interface Definition {
  readonly nad: string
  readonly name: string
  readonly topology: string
  readonly subnets: string
}

/** The definition of `red` is in another namespace than the workloads. `tiny` has six addresses. */
const NETWORKS: readonly Definition[] = [
  { nad: `${NAMESPACE}/blue`, name: 'tenant-blue', topology: 'layer2', subnets: '10.20.0.0/22,fd20::/64' },
  { nad: 'nets/red', name: 'tenant-red', topology: 'localnet', subnets: '10.24.0.0/23' },
  { nad: `${NAMESPACE}/tiny`, name: 'tenant-tiny', topology: 'layer2', subnets: '10.28.0.0/29' },
]

/** The name of the network of each definition. */
export const NETWORK_OF: ReadonlyMap<string, string> = new Map(NETWORKS.map(({ nad, name }) => [nad, name]))

export interface Ground {
  readonly server: RealKubernetes
  readonly admin: Client
  stop(): Promise<void>
}

/** A control plane with the garbage collector and the controller of StatefulSets, and networks. */
export async function startGround(): Promise<Ground> {
  const ours = [VirtualMachine, VirtualMachineInstance].map((model) => crdManifest(model))
  const server = await startKubernetes({
    crds: [...upstreamDefinitions(), ...ours],
    controllers: ['statefulset-controller'],
    controllerFlags: ['--kube-api-qps=1000', '--kube-api-burst=1000', '--concurrent-statefulset-syncs=5'],
  })
  await installKinds(server)
  const admin = new Client(server, 32)
  for (const name of [NAMESPACE, 'nets', 'kube-system', 'ipam-system']) {
    await admin.send('POST', '/api/v1/namespaces', { body: { metadata: { name } }, also: [409] })
  }
  for (const { nad, ...config } of NETWORKS) {
    const [namespace, name] = nad.split('/')
    const more = { type: 'ovn-k8s-cni-overlay', netAttachDefName: nad, allowPersistentIPs: true }
    await admin.send('POST', `${CNI}/v1/namespaces/${namespace}/network-attachment-definitions`, {
      body: {
        ...{ apiVersion: 'k8s.cni.cncf.io/v1', kind: 'NetworkAttachmentDefinition', metadata: { name } },
        spec: { config: JSON.stringify({ ...config, ...more }) },
      },
    })
  }
  return {
    server,
    admin,
    async stop() {
      admin.close()
      await server.stop()
    },
  }
}
