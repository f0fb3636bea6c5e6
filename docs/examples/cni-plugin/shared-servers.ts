import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import type { KindInfo } from 'ipam-kit/crd/meta'
import { IPPool as WhereaboutsPool } from 'ipam-kit/crd/whereabouts'
import { now, timers } from 'ipam-kit/node'
import { blocksWatch, type KnownBlocks } from 'ipam-kit/provider/blocks'
import { Controller, objectLocks } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { kubernetesStore } from 'ipam-kit/store/kubernetes'
import { serverOf } from './api-server.js'
import type { OpenStore } from './backend.js'
import { type SmallClient, smallClient } from './client.js'

/** One API server, and what is known of its blocks. */
interface Shared extends Omit<OpenStore, 'known' | 'close'> {
  readonly client: SmallClient
  readonly known: () => KnownBlocks | undefined
  /** Of the files of its kubeconfig. */
  readonly version: string
  readonly files: readonly string[]
  stop(): void
}

const LIMITS = { requestMs: 30_000, connections: 8 }

/** The API servers of a daemon: each with connections that stay, and a watch of its blocks. */
export class SharedServers {
  readonly #shared = new Map<string, Promise<Shared>>()
  readonly #report: (problem: string) => void

  constructor(report: (problem: string) => void) {
    this.#report = report
  }

  /**
   * The API server of a kubeconfig. One that has changed since is read again: its token turns.
   *
   * @throws IpamError `INVALID_CNI_CONFIG`
   */
  async open(kubeconfig: string | undefined, kinds: readonly KindInfo[]): Promise<OpenStore> {
    // a network of whereabouts reads blocks only while its pools are upgraded
    const hasBlocks = kinds.includes(IPBlock.info) && !kinds.includes(WhereaboutsPool.info)
    const key = `${hasBlocks} ${kubeconfig}`
    let shared = await this.#shared.get(key)
    if (shared === undefined || shared.version !== versionOf(shared.files)) {
      const opened = this.#make(kubeconfig, kinds, hasBlocks)
      this.#shared.set(key, opened)
      opened.catch(() => this.#shared.delete(key))
      shared?.stop()
      shared = await opened
    }
    const { store, namespace, locks, known } = shared
    return { store, namespace, locks, known: known(), close: () => {} }
  }

  async stop(): Promise<void> {
    for (const shared of await Promise.all(this.#shared.values())) shared.stop()
  }

  async #make(kubeconfig: string | undefined, kinds: readonly KindInfo[], hasBlocks: boolean): Promise<Shared> {
    const server = await serverOf(kubeconfig)
    const client = smallClient(server, LIMITS)
    const store = kubernetesStore(client, { sleep, kinds })
    const watch = hasBlocks ? this.#watch(store) : undefined
    return {
      store,
      client,
      namespace: server.namespace || undefined,
      locks: objectLocks(),
      known: watch?.known ?? (() => undefined),
      files: server.files,
      version: versionOf(server.files),
      stop: () => watch?.stop(),
    }
  }

  #watch(store: Store) {
    const watch = blocksWatch({ now })
    const onProblem = (problem: unknown) => this.#report(`watching blocks: ${JSON.stringify(problem)}`)
    const controller = new Controller({ store, planners: [watch], timers, onProblem })
    controller.run().catch(onProblem)
    // before it has listed, what it does not know counts as absent
    const known = () => (controller.load.synced ? watch.known : undefined)
    return { known, stop: () => controller.stop() }
  }
}

function versionOf(files: readonly string[]): string {
  return files
    .map((file) => {
      const found = statSync(file, { throwIfNoEntry: false })
      return `${found?.ino} ${found?.mtimeMs} ${found?.size}`
    })
    .join()
}
