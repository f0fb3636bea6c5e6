import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Address } from 'ipam-kit/cidr'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { IPPool, OverlappingRangeIPReservation, readRows } from 'ipam-kit/crd/whereabouts'
import { manifestsIn, SHARED } from '../account.js'
import { Client } from '../controller/client.js'
import { type RealKubernetes, startKubernetes } from '../servers/kubernetes.js'

export const NAMESPACE = 'kube-system'
export const POOLS = `/apis/${IPPool.info.apiVersion}/namespaces/${NAMESPACE}/${IPPool.info.plural}`
export const RESERVATIONS = `/apis/${IPPool.info.apiVersion}/namespaces/${NAMESPACE}/${OverlappingRangeIPReservation.info.plural}`
const DEFINITIONS = '/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions'

const MANIFESTS = [
  'whereabouts/whereabouts.cni.cncf.io_ippools.yaml',
  'whereabouts/whereabouts.cni.cncf.io_overlappingrangeipreservations.yaml',
  'whereabouts/whereabouts.cni.cncf.io_nodeslicepools.yaml',
  'network-attachment-definition-client/networks-crd.yaml',
  'ipamclaims/k8s.cni.cncf.io_ipamclaims.v0.5.1-alpha.yaml',
]

/** The definitions of upstream. */
export function upstreamDefinitions(): readonly object[] {
  const folder = join(SHARED, 'upstream-crds')
  const crds = MANIFESTS.flatMap((file) => manifestsIn(readFileSync(join(folder, file), 'utf8')))
  return crds.filter((object) => object?.kind === 'CustomResourceDefinition')
}

/** A control plane with the definitions of upstream. */
export async function startGround(): Promise<{ readonly server: RealKubernetes; readonly admin: Client }> {
  const server = await startKubernetes({ bare: true, crds: upstreamDefinitions() })
  const admin = new Client(server, 32)
  await admin.send('POST', '/api/v1/namespaces', { body: namespaceNamed(NAMESPACE), also: [409] })
  return { server, admin }
}

function namespaceNamed(name: string): object {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
}

/** Creates a network of whereabouts. @returns the members of its `ipam` */
export async function addNetwork(admin: Client, name: string, ipam: object): Promise<object> {
  const config = JSON.stringify({ cniVersion: '1.0.0', name, type: 'macvlan', ipam: { type: 'whereabouts', ...ipam } })
  const body = {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { name },
    spec: { config },
  }
  await admin.send('POST', DEFINITIONS, { body })
  return ipam
}

/** Creates a Pod that asks for a network. */
export async function addPod(admin: Client, name: string, network: string): Promise<void> {
  const metadata = { name, annotations: { 'k8s.v1.cni.cncf.io/networks': network } }
  const body = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: { nodeName: 'node-a', containers: [{ name: 'c', image: 'i' }] },
  }
  await admin.send('POST', '/api/v1/namespaces/default/pods', { body })
}

/** A row of any pool. */
export interface StoredRow {
  readonly pool: string
  readonly address: string
  readonly id: string
  readonly podref: string
}

export async function storedRows(admin: Client): Promise<readonly StoredRow[]> {
  return (await admin.list(POOLS)).flatMap((object) =>
    readRows(IPPool.parse(object)).rows.map(({ address, id, podref }) => {
      return { pool: object.metadata.name, address: Address.format(address), id, podref }
    }),
  )
}

/** The reservations, by their names: the Pod of each. */
export async function storedReservations(admin: Client): Promise<ReadonlyMap<string, string>> {
  const objects = (await admin.list(RESERVATIONS)) as readonly (KubeObject & {
    readonly spec: { readonly podref: string }
  })[]
  return new Map(objects.map(({ metadata, spec }) => [metadata.name, spec.podref]))
}
