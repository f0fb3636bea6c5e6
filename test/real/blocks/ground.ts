import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { IPBlock, IPDomain, IPHandle, IPPool } from 'ipam-kit/crd/ipam-kit'
import { crdManifest } from 'ipam-kit/crd/manifest'
import type { KindInfo } from 'ipam-kit/crd/meta'
import type { Timers } from 'ipam-kit/run'
import {
  type ClientNodeConfig,
  type ClientNodeWatch,
  fromClientNode,
  type KubernetesClient,
  kubernetesStore,
} from 'ipam-kit/store/kubernetes'
import { type Load, type OpenStore, openStore as openAny } from '../../../docs/examples/open-store.js'
import { paced } from '../pace.js'
import type { RealKubernetes } from '../servers/kubernetes.js'

export type Engine = 'kubernetes' | 'postgres' | 'redis' | 'etcd'

const MODELS = [IPDomain, IPPool, IPBlock, IPHandle]
export const KINDS: readonly KindInfo[] = MODELS.map(({ info }) => info)

const REQUEST_MS = 30_000

export const timers: Timers = {
  now: Date.now,
  after: (ms, action) => {
    const timer = setTimeout(action, ms)
    return () => clearTimeout(timer)
  },
}

/**
 * A store over a connection of its own.
 *
 * @param place a URL; of Kubernetes the file of a kubeconfig
 */
export async function openStore(engine: Engine, place: string, load: Load): Promise<OpenStore> {
  if (engine !== 'kubernetes') return openAny({ engine, place }, { kinds: KINDS, load })
  return { store: kubernetesStore(await connect(place, load), { sleep, kinds: KINDS }), close: async () => {} }
}

/** The client of a kubeconfig. */
export async function connect(kubeconfig: string, load: Load): Promise<KubernetesClient> {
  const { KubeConfig, Watch } = await load<ClientNode>('@kubernetes/client-node')
  const config = new KubeConfig()
  config.loadFromString(readFileSync(kubeconfig, 'utf8'))
  return fromClientNode(config, new Watch(config), { signal: () => AbortSignal.timeout(paced(REQUEST_MS)) })
}

interface ClientNode {
  readonly KubeConfig: new () => ClientNodeConfig & { loadFromString(text: string): void }
  readonly Watch: new (config: ClientNodeConfig) => ClientNodeWatch
}

export async function installKinds(server: RealKubernetes): Promise<void> {
  for (const model of MODELS) await server.apply(crdManifest(model))
}
