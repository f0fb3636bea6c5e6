import { randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import type { KubeObject } from 'ipam-kit/crd/meta'
import {
  assertDistinct,
  claimOf,
  GROUP,
  makePools,
  untilBound,
  untilCounted,
  watchBound,
} from '../../test/real/controller/claims.js'
import { Client, eachOf } from '../../test/real/controller/client.js'
import type { Ground } from '../../test/real/controller/ground.js'
import { ControllerProcess } from '../../test/real/controller/process.js'
import { deleteObjects, putObjects } from '../../test/real/servers/etcd-objects.js'
import { BARE_POOL, bindBare } from '../controller/bare.js'
import { type Requests, requestsBetween, requestsOf } from '../controller/counts.js'
import { BareBlocks } from './bare-blocks.js'

export const POOLS = 5
const PREFIX = 19
const BLOCKS_GROUP = 'ipam-kit.dev'
const PATIENCE_SECONDS = 120
/** How many claims the bare client has in flight: as many as four controllers, of eight each. */
const BARE_IN_FLIGHT = 32

export type Ledger = 'objects' | 'blocks'

/** What binding some claims took. */
export interface Round {
  readonly claims: number
  readonly seconds: number
  readonly requests: Requests
}

/** What binds the claims of a round. */
interface Side {
  readonly poolKind?: string | undefined
  /** Begins when the claims are there; controllers see them by themselves. */
  readonly bind?: (claims: readonly KubeObject[]) => Promise<void>
  readonly lines: () => readonly string[]
}

/**
 * Claims that wait all at once, and become Bound: by some controllers, or by a client that has
 * nothing to decide. A round begins without any claim, pool or block of the rounds before.
 */
export class ClaimRounds {
  readonly #ground: Ground
  readonly #program: string
  readonly #claims: number
  readonly #client: Client
  #round = 0

  constructor(ground: Ground, program: string, claims: number) {
    this.#ground = ground
    this.#program = program
    this.#claims = claims
    this.#client = new Client(ground.server, BARE_IN_FLIGHT + 1)
  }

  close(): void {
    this.#client.close()
  }

  async controlled(ledger: Ledger, count: number): Promise<Round> {
    const namespace = await this.#begin()
    await makePools(this.#client, namespace, POOLS, PREFIX)
    const start = () => new ControllerProcess(this.#program, this.#ground.kubeconfig, ['--ledger', ledger])
    const processes = Array.from({ length: count }, start)
    try {
      await Promise.all(processes.map((process) => process.untilItLeads()))
      return await this.#measure(namespace, {
        lines: () => processes.flatMap(({ lines }) => lines.slice(-10)),
      })
    } finally {
      for (const process of processes) await process.stop()
    }
  }

  /**
   * The writes of a claim on blocks: a row of a block on the condition of its version, and those of
   * every claim.
   */
  async bare(): Promise<Round> {
    const namespace = await this.#begin()
    const uids = await makePools(this.#client, namespace, POOLS, PREFIX)
    const blocks = new BareBlocks(this.#client, namespace)
    let next = 0
    const bind = (claims: readonly KubeObject[]) =>
      eachOf(claims, BARE_IN_FLIGHT, async (claim) => {
        const number = next++
        const pool = number % POOLS
        const parts = { namespace, pool, uid: uids[pool]!, number: Math.floor(number / POOLS) }
        await blocks.give(claim, parts)
        await bindBare(this.#client, claim, parts)
      })
    return this.#measure(namespace, { poolKind: BARE_POOL, bind, lines: () => [] })
  }

  /** @returns a namespace */
  async #begin(): Promise<string> {
    const { etcdUrl } = this.#ground.server
    for (const group of [GROUP, BLOCKS_GROUP]) await deleteObjects(etcdUrl, group)
    const name = `round-${this.#round++}`
    await this.#client.send('POST', '/api/v1/namespaces', { body: { metadata: { name } } })
    return name
  }

  /** Twice, of which the second one counts: code that has run before is faster. */
  async #measure(namespace: string, side: Side): Promise<Round> {
    await this.#bind(namespace, side)
    const round = await this.#bind(namespace, side)
    await assertDistinct(this.#client, namespace, 2 * this.#claims)
    return round
  }

  async #bind(namespace: string, { poolKind, bind, lines }: Side): Promise<Round> {
    const [client, claims, { server }] = [this.#client, this.#claims, this.#ground]
    // a client without a controller has nothing that counts
    const quiet = async () => bind === undefined && (await untilCounted(client, namespace, PATIENCE_SECONDS))
    await quiet()
    const start = `claim-${randomUUID().slice(0, 8)}-`
    const objects = Array.from({ length: claims }, (_, nth) => {
      const object = claimOf({ namespace, name: `${start}${nth}`, pool: nth % POOLS, poolKind })
      return { plural: 'ipaddressclaims', object }
    })
    const bound = await watchBound(client, namespace, (name) => name.startsWith(start))
    try {
      const groups = [GROUP, BLOCKS_GROUP]
      const before = await requestsOf(server, groups)
      const startMs = performance.now()
      const stored = await putObjects(server.etcdUrl, objects)
      await bind?.(stored)
      await untilBound(bound, claims, { seconds: PATIENCE_SECONDS, lines })
      const seconds = (Math.max(...bound.atMs.values()) - startMs) / 1000
      await quiet()
      return { claims, seconds, requests: requestsBetween(before, await requestsOf(server, groups)) }
    } finally {
      bound.stop()
    }
  }
}
