import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from '../../../src/crd/meta/object.js'
import {
  type ClientNodeConfig,
  type ClientNodeWatch,
  fromClientNode,
  kubernetesStore,
} from '../../../src/store/kubernetes/index.js'
import { conformanceKinds } from '../../../src/testing/index.js'
import { runConformance } from '../conformance.js'
import { paced, pause } from '../pace.js'
import { startProxy, type TcpProxy } from '../proxy.js'
import type { Depth, Part, Report } from '../report.js'
import { clientVersion, importClient, installClients } from '../servers/install.js'
import { kubeconfigOf } from '../servers/kube-api.js'
import { type RealKubernetes, startKubernetes } from '../servers/kubernetes.js'
import { compile } from '../types.js'
import { behaviour } from './behaviour.js'
import { definitionOf } from './definitions.js'
import { compareStores } from './differential.js'

/** The store over a real API server, which is the judge of the contract. */
export const kubernetes: Part = {
  name: 'kubernetes',
  about: 'the store over @kubernetes/client-node and a real API server keeps the contract',
  async run(report, depth) {
    await installClients()
    await checkTypes(report)
    const server = await startKubernetes({ crds: conformanceKinds.map(definitionOf) })
    const proxy = await startProxy(Number(new URL(server.url).port))
    try {
      const { KubeConfig, Watch } = await importClient<ClientNode>('@kubernetes/client-node')
      const connect = (url: string, signal?: () => AbortSignal) => {
        const config = new KubeConfig()
        config.loadFromString(kubeconfigOf({ ...server, url }))
        return fromClientNode(config, new Watch(config), { signal })
      }
      const proxied = `https://127.0.0.1:${proxy.port}`
      const client = connect(proxied)
      const direct = connect(server.url)
      const hasty = connect(proxied, () => AbortSignal.timeout(paced(2000)))
      const open = () => kubernetesStore(client, { sleep, kinds: conformanceKinds })
      await conformance(report, { open, server, proxy })
      await differences(report, { open, server, proxy }, SIZES[depth])
      await behaviour(report, { server, proxy, client, direct, hasty })
    } finally {
      await proxy.close()
      await server.stop()
    }
  },
}

/** On Node 22 and later both versions of the client are installed. */
const IS_NEWER = Number.parseInt(process.versions.node, 10) >= 22

async function checkTypes(report: Report): Promise<void> {
  for (const config of IS_NEWER ? ['tsconfig.json', 'tsconfig.node24.json'] : ['tsconfig.json']) {
    const url = new URL(`types/${config}`, import.meta.url)
    await report.test(`client-node fits without a cast (${config})`, () => compile(url))
  }
}

/** What is used of the client: that it fits is for the compiler to say, in types/. */
interface ClientNode {
  readonly KubeConfig: new () => ClientNodeConfig & { loadFromString(text: string): void }
  readonly Watch: new (config: ClientNodeConfig) => ClientNodeWatch
}

interface Setup {
  readonly open: () => ReturnType<typeof kubernetesStore>
  readonly server: RealKubernetes
  readonly proxy: TcpProxy
}

async function conformance(report: Report, { open, server, proxy }: Setup): Promise<void> {
  await runConformance(report, {
    adapter: IS_NEWER ? 'client-node-2' : 'client-node-1',
    versions: `Kubernetes ${server.version.replace(/^v/, '')}, client-node ${clientVersion('@kubernetes/client-node')}`,
    capabilities: open().capabilities,
    open,
    createNamespace: async (name) => {
      await server.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    },
    interruptWatches: async () => {
      proxy.cut()
      // the client notices that the connections it keeps for requests are gone too
      await pause(50)
    },
    sleep,
  })
}

interface Size {
  readonly seeds: readonly number[]
  /** Of each seed. */
  readonly steps: number
}

const SIZES: { readonly [D in Depth]: Size } = {
  full: { seeds: [1, 2, 3, 4, 5, 6], steps: 300 },
  short: { seeds: [1, 2], steps: 150 },
}

/**
 * What cases do not ask: the same operations, at random, on the store in memory and on the server.
 */
async function differences(report: Report, { open, server }: Setup, { seeds, steps }: Size): Promise<void> {
  for (const seed of seeds) {
    await report.test(`memory and the server answer alike (seed ${seed})`, async () => {
      const namespaces = [`alike-${seed}`, `alike-${seed}-b`] as const
      for (const name of namespaces) await server.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
      const { body } = await server.request<KubeObject>('GET', `/api/v1/namespaces/${namespaces[0]}`)
      const owner = { apiVersion: 'v1', kind: 'Namespace', name: namespaces[0], uid: body.metadata.uid! }
      return compareStores(open(), namespaces, { seed, steps, owner })
    })
  }
}
