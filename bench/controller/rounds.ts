import { randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { Client, eachOf } from '../../test/real/controller/client.js'
import type { Ground } from '../../test/real/controller/ground.js'
import { ControllerProcess } from '../../test/real/controller/process.js'
import { waitFor } from '../../test/real/servers/tools.js'

export const CLAIMS = 500
export const POOLS = 5
const AT_ONCE = 8
const GROUP = 'ipam.cluster.x-k8s.io'
const BASE = `/apis/${GROUP}`
/** As many puts as etcd takes at a time. */
const PUTS = 128
const PATIENCE_SECONDS = 120

/** What a round took. */
export interface Round {
  readonly seconds: number
  /** Writes that the server has answered, without those that made the claims. */
  readonly writes: number
}

/** Claims that are bound, once by a client that does nothing else than the three writes of each, and once by the controller. */
export class Rounds {
  readonly #ground: Ground
  readonly #program: string
  readonly #client: Client
  #round = 0

  constructor(ground: Ground, program: string) {
    this.#ground = ground
    this.#program = program
    this.#client = new Client(ground.server, AT_ONCE + 1)
  }

  close(): void {
    this.#client.close()
  }

  /** What has to be done at least: the finalizer of the claim, the address with its two owners, the status of the claim. */
  async bare(): Promise<Round> {
    const namespace = await this.#namespace()
    const poolUids = await this.#makePools(namespace)
    // of no kind that a controller serves
    const claims = await this.#makeClaims(namespace, 'BarePool')
    const before = await this.#writes()
    const start = performance.now()
    await eachOf([...claims.entries()], AT_ONCE, ([nth, claim]) => this.#serve(claim, nth, poolUids))
    const seconds = (performance.now() - start) / 1000
    return { seconds, writes: (await this.#writes()) - before }
  }

  /** Claims are made while the controller runs. */
  async controlled(namespace?: string): Promise<Round> {
    const where = namespace ?? (await this.#namespace())
    if (namespace === undefined) await this.#makePools(where)
    const controller = new ControllerProcess(this.#program, this.#ground.kubeconfig)
    await controller.untilItLeads()
    try {
      // as the bare client is: its code has run before
      await this.#bind(where, controller)
      return await this.#bind(where, controller)
    } finally {
      await controller.stop()
    }
  }

  /** Makes claims, and waits until a watch has told that all of them are bound. */
  async #bind(namespace: string, controller: ControllerProcess): Promise<Round> {
    const claims = `${BASE}/v1beta2/namespaces/${namespace}/ipaddressclaims`
    const bound = new Set<string>()
    const unwatch = await this.#client.watch(claims, (_, { metadata, status }) => {
      if ((status as { addressRef?: object } | undefined)?.addressRef !== undefined) bound.add(metadata.uid!)
    })
    try {
      await this.#untilCounted(namespace)
      const before = await this.#writes()
      const start = performance.now()
      await this.#makeClaims(namespace, 'InClusterIPPool')
      await waitFor(() => bound.size >= CLAIMS || undefined, {
        seconds: PATIENCE_SECONDS,
        else: 'claims are not bound',
        explain: () => `${bound.size} are\n${controller.lines.slice(-20).join('\n')}`,
      })
      const seconds = (performance.now() - start) / 1000
      await this.#untilCounted(namespace)
      return { seconds, writes: (await this.#writes()) - before - CLAIMS }
    } finally {
      unwatch()
    }
  }

  /** A namespace with pools that have given so many addresses, put straight into etcd as a restore would. */
  async filled(inUse: number): Promise<string> {
    const namespace = await this.#namespace()
    const uids = await this.#makePools(namespace)
    const objects = Array.from({ length: inUse }, (_, nth) => {
      const pool = nth % POOLS
      return addressOf({ namespace, pool, uid: uids[pool]!, number: Math.floor(nth / POOLS) })
    })
    for (let at = 0; at < objects.length; at += PUTS) {
      const success = objects.slice(at, at + PUTS).map((object) => ({ requestPut: putOf(object) }))
      const answer = await fetch(`${this.#ground.server.etcdUrl}/v3/kv/txn`, {
        method: 'POST',
        body: JSON.stringify({ success }),
      })
      if (!answer.ok) throw new Error(`etcd: ${answer.status} ${await answer.text()}`)
    }
    return namespace
  }

  async #namespace(): Promise<string> {
    const name = `round-${this.#round++}`
    await this.#client.send('POST', '/api/v1/namespaces', { body: { metadata: { name } } })
    return name
  }

  /** @returns their uids */
  #makePools(namespace: string): Promise<string[]> {
    const path = `${BASE}/v1alpha2/namespaces/${namespace}/inclusterippools`
    const make = async (nth: number) => {
      const spec = { addresses: [`10.${nth}.0.0/19`], prefix: 19, gateway: `10.${nth}.0.1` }
      const body = { apiVersion: `${GROUP}/v1alpha2`, kind: 'InClusterIPPool', metadata: { name: `p${nth}` }, spec }
      return (await this.#client.send<KubeObject>('POST', path, { body })).metadata.uid!
    }
    return Promise.all(Array.from({ length: POOLS }, (_, nth) => make(nth)))
  }

  async #makeClaims(namespace: string, kind: string): Promise<readonly KubeObject[]> {
    const path = `${BASE}/v1beta2/namespaces/${namespace}/ipaddressclaims`
    const made: KubeObject[] = []
    const round = randomUUID().slice(0, 8)
    const numbers = Array.from({ length: CLAIMS }, (_, nth) => nth)
    await eachOf(numbers, AT_ONCE, async (nth) => {
      const poolRef = { apiGroup: GROUP, kind, name: `p${nth % POOLS}` }
      const metadata = { name: `claim-${round}-${nth}` }
      const body = { apiVersion: `${GROUP}/v1beta2`, kind: 'IPAddressClaim', metadata, spec: { poolRef } }
      made.push(await this.#client.send<KubeObject>('POST', path, { body }))
    })
    return made
  }

  async #serve(claim: KubeObject, nth: number, poolUids: readonly string[]): Promise<void> {
    const { namespace, name, uid } = claim.metadata
    const self = `${BASE}/v1beta2/namespaces/${namespace}/ipaddressclaims/${name}`
    const finalizers = [`${GROUP}/ReleaseAddress`]
    await this.#client.send('PATCH', self, { body: { metadata: { finalizers } }, patch: 'merge' })
    const pool = nth % POOLS
    const address = addressOf({
      namespace: namespace!,
      pool,
      uid: poolUids[pool]!,
      number: nth,
      claim: { name, uid: uid! },
    })
    await this.#client.send('POST', `${BASE}/v1beta2/namespaces/${namespace}/ipaddresses`, { body: address })
    await this.#client.send('PATCH', `${self}/status`, { body: { status: { addressRef: { name } } }, patch: 'merge' })
  }

  /** Until the counts of the pools are those of the addresses that there are. */
  async #untilCounted(namespace: string): Promise<void> {
    const pools = `${BASE}/v1alpha2/namespaces/${namespace}/inclusterippools`
    const addresses = `${BASE}/v1beta2/namespaces/${namespace}/ipaddresses`
    await waitFor(
      async () => {
        const used = (await this.#client.list(pools)).map(({ status }) => {
          return (status as { ipAddresses?: { used?: number } } | undefined)?.ipAddresses?.used ?? Number.NaN
        })
        const total = await this.#client.count(addresses)
        return used.reduce((sum, count) => sum + count, 0) === total || undefined
      },
      { seconds: PATIENCE_SECONDS, else: 'pools do not count what they have given' },
    )
  }

  /** How many writes of objects of this group the server has done. */
  async #writes(): Promise<number> {
    const { body } = await this.#ground.server.request<string>('GET', '/metrics')
    const lines = body.split('\n').filter((line) => line.startsWith('apiserver_request_total{') && line.includes(GROUP))
    const writes = lines.filter((line) => /verb="(POST|PUT|PATCH|DELETE|APPLY)"/.test(line))
    return writes.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
  }
}

interface AddressParts {
  readonly namespace: string
  readonly pool: number
  readonly uid: string
  readonly number: number
  /** Left out: of a claim that is not there. */
  readonly claim?: { readonly name: string; readonly uid: string }
}

/** An address as the provider writes it. The first of the pool is its network, the second its gateway. */
function addressOf({ namespace, pool, uid, number, claim }: AddressParts): KubeObject {
  const name = claim?.name ?? `seed-${pool}-${number}`
  const owner = { apiVersion: `${GROUP}/v1alpha2`, kind: 'InClusterIPPool', name: `p${pool}`, uid }
  const holder = claim && { apiVersion: `${GROUP}/v1beta2`, kind: 'IPAddressClaim', ...claim }
  const offset = number + 2
  return {
    apiVersion: `${GROUP}/v1beta2`,
    kind: 'IPAddress',
    metadata: {
      name,
      namespace,
      finalizers: [`${GROUP}/ProtectAddress`],
      ownerReferences: [
        ...(holder === undefined ? [] : [{ ...holder, controller: true, blockOwnerDeletion: true }]),
        { ...owner, controller: false, blockOwnerDeletion: true },
      ],
    },
    spec: {
      address: `10.${pool}.${offset >> 8}.${offset & 255}`,
      claimRef: { name },
      poolRef: { apiGroup: GROUP, kind: holder === undefined ? 'InClusterIPPool' : 'BarePool', name: `p${pool}` },
      prefix: 19,
      gateway: `10.${pool}.0.1`,
    },
  }
}

function putOf(object: KubeObject): { readonly key: string; readonly value: string } {
  const { namespace, name } = object.metadata
  const metadata = { ...object.metadata, uid: randomUUID(), creationTimestamp: '2026-01-01T00:00:00Z', generation: 1 }
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  return {
    key: base64(`/registry/${GROUP}/ipaddresses/${namespace}/${name}`),
    value: base64(JSON.stringify({ ...object, metadata })),
  }
}
