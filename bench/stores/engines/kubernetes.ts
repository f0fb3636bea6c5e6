import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { type ClientNodeConfig, type ClientNodeWatch, fromClientNode, kubernetesStore } from 'ipam-kit/store/kubernetes'
import { definitionOf } from '../../../test/real/kubernetes/definitions.js'
import { clientVersion, importClient } from '../../../test/real/servers/install.js'
import { kubeconfigOf } from '../../../test/real/servers/kube-api.js'
import { startKubernetes } from '../../../test/real/servers/kubernetes.js'
import { type Bench, type Calls, GROUP, KIND, type Listed, NAMESPACES, storeCalls } from '../calls.js'

const CLIENT = '@kubernetes/client-node'
const FIELD_MANAGER = 'ipam-kit'
const [, VERSION] = KIND.apiVersion.split('/') as [string, string]

interface Place {
  readonly group: string
  readonly version: string
  readonly namespace: string
  readonly plural: string
}

interface CustomObjectsApi {
  createNamespacedCustomObject(request: Place & { body: object; fieldManager: string }): Promise<KubeObject>
  replaceNamespacedCustomObject(
    request: Place & { name: string; body: object; fieldManager: string },
  ): Promise<KubeObject>
  listNamespacedCustomObject(request: Place & { limit?: number }): Promise<List>
}

interface List {
  readonly metadata: { readonly resourceVersion: string }
  readonly items: readonly KubeObject[]
}

interface ClientNode {
  readonly KubeConfig: new () => Config
  readonly Watch: new (config: Config) => ClientNodeWatch
  readonly CustomObjectsApi: new (configuration: object) => CustomObjectsApi
}

type Config = ClientNodeConfig & { loadFromString(text: string): void }

/** The disk is waited for, as by an etcd of one's own. */
export async function overKubernetes(): Promise<Bench> {
  const { KubeConfig, Watch, CustomObjectsApi } = await importClient<ClientNode>(CLIENT)
  const server = await startKubernetes({ crds: [definitionOf(KIND)], durable: true })
  for (const name of Object.values(NAMESPACES)) {
    await server.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  }
  const config = new KubeConfig()
  config.loadFromString(kubeconfigOf(server))
  const store = () => kubernetesStore(fromClientNode(config, new Watch(config)), { sleep, kinds: [KIND] })
  return {
    versions: `Kubernetes ${server.version} with client-node ${clientVersion(CLIENT)}`,
    ours: storeCalls(store(), store()),
    raw: rawCalls(config.makeApiClient(CustomObjectsApi), new Watch(config)),
    close: () => server.stop(),
  }
}

/** By hand: what client-node has for objects of any kind. */
function rawCalls(api: CustomObjectsApi, watches: ClientNodeWatch): Calls {
  const namespace = NAMESPACES.raw
  const fieldManager = FIELD_MANAGER
  const place = { group: GROUP, version: VERSION, namespace, plural: KIND.plural }
  return {
    namespace,
    create: (body) => api.createNamespacedCustomObject({ ...place, body, fieldManager }),
    update: (body) => api.replaceNamespacedCustomObject({ ...place, name: body.metadata.name, body, fieldManager }),
    async list(from): Promise<Listed> {
      const { items, metadata } = await api.listNamespacedCustomObject({ ...place, namespace: from })
      return { items, resourceVersion: metadata.resourceVersion }
    },
    async watch(told) {
      const { metadata } = await api.listNamespacedCustomObject({ ...place, limit: 1 })
      const path = `/apis/${KIND.apiVersion}/namespaces/${namespace}/${KIND.plural}`
      const query = { resourceVersion: metadata.resourceVersion, allowWatchBookmarks: true }
      const connection = await watches.watch(
        path,
        query,
        (type, object) => {
          if (type !== 'BOOKMARK') told(object as KubeObject)
        },
        () => {},
      )
      return async () => connection.abort()
    },
  }
}
