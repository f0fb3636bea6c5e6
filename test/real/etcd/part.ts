import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { etcdGateway, etcdStore } from 'ipam-kit/store/etcd'
import { conformanceKinds } from 'ipam-kit/testing'
import type { EtcdStoreOptions } from '../../../src/store/etcd/etcd-store.js'
import type { EtcdGatewayOptions } from '../../../src/store/etcd/gateway.js'
import { runConformance } from '../conformance.js'
import { pause } from '../pace.js'
import { startProxy, type TcpProxy } from '../proxy.js'
import type { Part, Report } from '../report.js'
import { startEtcd } from '../servers/etcd.js'
import type { RealServer } from '../servers/server.js'
import { behaviour } from './behaviour.js'
import { connections } from './connections.js'
import { silence } from './silence.js'

/** The store over a real etcd, through its JSON and the fetch of Node. */
export const etcd: Part = {
  name: 'etcd',
  about: 'the store over fetch and a real etcd keeps the contract',
  async run(report) {
    const server = await startEtcd({ fast: true })
    const proxy = await startProxy(Number(new URL(server.url).port))
    const setup = { report, server, proxy, behindUrl: `http://127.0.0.1:${proxy.port}` }
    try {
      await conformance(setup)
      await behaviour(setup)
      await connections(setup)
      await silence(setup)
    } finally {
      await proxy.close()
      await server.stop()
    }
  },
}

export interface Setup {
  readonly report: Report
  readonly server: RealServer
  readonly proxy: TcpProxy
  /** The server through the proxy. */
  readonly behindUrl: string
}

export function storeAt(url: string, options: Partial<EtcdStoreOptions & EtcdGatewayOptions> = {}) {
  const {
    fromBase64,
    abortController = () => new AbortController(),
    fetch: ask = fetch,
    url: at = url,
    ...rest
  } = options
  const all = { now: Date.now, uid: randomUUID, sleep, kinds: conformanceKinds, retryMs: 50, ...rest }
  return etcdStore(etcdGateway({ fetch: ask, url: at, abortController, fromBase64 }), all)
}

async function conformance({ report, server, proxy, behindUrl }: Setup): Promise<void> {
  const open = () => storeAt(behindUrl)
  const interruptWatches = async () => {
    // a watch that has just been asked for is there, too
    await pause(30)
    proxy.cut()
    // fetch must not take a connection for the next write that it does not know to be gone
    await pause(30)
  }
  const versions = `etcd ${server.version}`
  await runConformance(report, {
    adapter: 'etcd',
    versions,
    capabilities: open().capabilities,
    open,
    sleep,
    interruptWatches,
  })
}
