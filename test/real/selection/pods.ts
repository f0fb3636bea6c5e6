import { createHash } from 'node:crypto'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { type Client, eachOf } from '../controller/client.js'
import type { RealKubernetes } from '../servers/kubernetes.js'

/** How many Pods a Node has. */
export const PODS_PER_NODE = 100
const NAMESPACES = 20
/** How many values the label `app` has. */
const APPS = 300
const WRITES_AT_ONCE = 32

/** A Pod that the test has created. */
export interface Created {
  readonly number: number
  /** `namespace/name` */
  readonly key: string
  readonly uid: string
}

export function appOf(number: number): string {
  return `app-${number % APPS}`
}

export function nodeOf(number: number): string {
  return `node-${Math.floor(number / PODS_PER_NODE)}`
}

export function keyOf({ metadata: { namespace, name } }: Pick<KubeObject, 'metadata'>): string {
  return `${namespace}/${name}`
}

export function pathOf(key: string): string {
  const [namespace, name] = key.split('/')
  return `/api/v1/namespaces/${namespace}/pods/${name}`
}

export async function createNamespaces(server: RealKubernetes): Promise<void> {
  for (let number = 0; number < NAMESPACES; number++) {
    await server.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespaceOf(number) } })
  }
}

/** The value of the label by which Pods are selected. */
export const APP = appOf(7)

/** Creates the Pods of some numbers. */
export async function createPods(admin: Client, numbers: readonly number[]): Promise<readonly Created[]> {
  const created: Created[] = []
  await eachOf(numbers, WRITES_AT_ONCE, async (number) => {
    const body = podOf(number)
    const made = await admin.send<KubeObject>('POST', `/api/v1/namespaces/${body.metadata.namespace}/pods`, { body })
    created.push({ number, key: keyOf(made), uid: made.metadata.uid! })
  })
  return created
}

/** Deletes a Pod at once: no kubelet would end it. */
export async function deletePod(admin: Client, key: string): Promise<void> {
  await admin.send('DELETE', `${pathOf(key)}?gracePeriodSeconds=0`)
}

export function patchLabels(
  admin: Client,
  key: string,
  labels: { readonly [name: string]: string | null },
): Promise<KubeObject> {
  return admin.send<KubeObject>('PATCH', pathOf(key), { patch: 'merge', body: { metadata: { labels } } })
}

/** Names a set of Pods by a short text: other names or uids, another text. */
export function digestOf(pods: Iterable<{ readonly key: string; readonly uid: string }>): string {
  const lines = [...pods].map(({ key, uid }) => `${key} ${uid}\n`).sort()
  return createHash('sha256').update(lines.join('')).digest('hex').slice(0, 16)
}

function namespaceOf(number: number): string {
  return `team-${number % NAMESPACES}`
}

/** A Pod as a Deployment makes it, which the API server stores in about 6 kB. */
function podOf(number: number) {
  const app = appOf(number)
  const hash = `7d4b9c6f${String(number % APPS).padStart(2, '0')}`
  const network = { name: 'kube-system/default', interface: 'eth0', ips: [], mac: '02:42:ac:11:00:02', default: true }
  const variable = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } })
  const container = (name: string, port: number) => ({
    name,
    image: `registry.example.com/${app}/${name}:v1.24.7`,
    args: [`--listen=:${port}`, '--log-format=json', '--shutdown-timeout=25s'],
    ports: [{ name: 'http', containerPort: port }],
    env: [
      variable('POD_NAME', 'metadata.name'),
      variable('POD_NAMESPACE', 'metadata.namespace'),
      { name: 'DATABASE_URL', value: `postgres://${app}.databases.svc:5432/${app}` },
    ],
    resources: { limits: { cpu: '1', memory: '512Mi' }, requests: { cpu: '100m', memory: '128Mi' } },
    livenessProbe: { httpGet: { path: '/healthz', port: 'http', scheme: 'HTTP' }, periodSeconds: 10 },
    volumeMounts: [{ name: 'config', mountPath: `/etc/${name}`, readOnly: true }],
  })
  const labels = { app, 'pod-template-hash': hash, 'app.kubernetes.io/name': app, 'app.kubernetes.io/part-of': 'shop' }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace: namespaceOf(number),
      name: `${app}-${hash}-${number.toString(36).padStart(5, '0')}`,
      labels,
      annotations: {
        'k8s.v1.cni.cncf.io/networks': 'blue',
        'k8s.v1.cni.cncf.io/network-status': JSON.stringify([network, { ...network, interface: 'net1' }], null, 4),
      },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: `${app}-${hash}`,
          uid: '90ab7f0e-5f35-4f07-a1c5-4f1c2b6d8e3a',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      nodeName: nodeOf(number),
      containers: [container('server', 8080), container('proxy', 9090)],
      volumes: [{ name: 'config', configMap: { name: `${app}-config` } }],
    },
  }
}
