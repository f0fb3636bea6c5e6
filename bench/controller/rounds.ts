import { randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import type { KubeObject } from 'ipam-kit/crd/meta'
import {
  AT_ONCE,
  claimOf,
  createClaims,
  GROUP,
  makePools,
  untilBound,
  untilCounted,
  watchBound,
} from '../../test/real/controller/claims.js'
import { Client, eachOf } from '../../test/real/controller/client.js'
import type { Ground } from '../../test/real/controller/ground.js'
import { ControllerProcess } from '../../test/real/controller/process.js'
import { putObjects } from '../../test/real/servers/etcd-objects.js'
import { addressOf, BARE_POOL, bindBare } from './bare.js'
import { requestsOf } from './counts.js'

export const CLAIMS = 500
export const POOLS = 5
const PREFIX = 19
const PATIENCE_SECONDS = 120

/** What a round took. */
export interface Round {
  readonly seconds: number
  /** Writes that the server has answered, without those that made the claims. */
  readonly writes: number
}

/**
 * Claims that are bound, once by a client that does nothing else than the three writes of each, and
 * once by the controller.
 */
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

  /** What has to be done at least. */
  async bare(): Promise<Round> {
    const namespace = await this.#namespace()
    const uids = await makePools(this.#client, namespace, POOLS, PREFIX)
    const claims = await this.#makeClaims(namespace, BARE_POOL)
    const before = await this.#writes()
    const start = performance.now()
    await eachOf([...claims.entries()], AT_ONCE, ([number, claim]) => {
      const pool = number % POOLS
      return bindBare(this.#client, claim, { namespace, pool, uid: uids[pool]!, number })
    })
    const seconds = (performance.now() - start) / 1000
    return { seconds, writes: (await this.#writes()) - before }
  }

  /** Claims are made while the controller runs. */
  async controlled(namespace?: string): Promise<Round> {
    const where = namespace ?? (await this.#namespace())
    if (namespace === undefined) await makePools(this.#client, where, POOLS, PREFIX)
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
    const bound = await watchBound(this.#client, namespace)
    try {
      await untilCounted(this.#client, namespace, PATIENCE_SECONDS)
      const before = await this.#writes()
      const start = performance.now()
      await this.#makeClaims(namespace)
      const lines = () => controller.lines.slice(-20)
      await untilBound(bound, CLAIMS, { seconds: PATIENCE_SECONDS, lines })
      const seconds = (performance.now() - start) / 1000
      await untilCounted(this.#client, namespace, PATIENCE_SECONDS)
      return { seconds, writes: (await this.#writes()) - before - CLAIMS }
    } finally {
      bound.stop()
    }
  }

  /**
   * A namespace with pools that have given so many addresses, put straight into etcd as a restore
   * would.
   */
  async filled(inUse: number): Promise<string> {
    const namespace = await this.#namespace()
    const uids = await makePools(this.#client, namespace, POOLS, PREFIX)
    const objects = Array.from({ length: inUse }, (_, nth) => {
      const pool = nth % POOLS
      const object = addressOf({ namespace, pool, uid: uids[pool]!, number: Math.floor(nth / POOLS) })
      return { plural: 'ipaddresses', object }
    })
    await putObjects(this.#ground.server.etcdUrl, objects)
    return namespace
  }

  async #namespace(): Promise<string> {
    const name = `round-${this.#round++}`
    await this.#client.send('POST', '/api/v1/namespaces', { body: { metadata: { name } } })
    return name
  }

  #makeClaims(namespace: string, poolKind?: string): Promise<readonly KubeObject[]> {
    const round = randomUUID().slice(0, 8)
    const claims = Array.from({ length: CLAIMS }, (_, nth) => {
      return claimOf({ namespace, name: `claim-${round}-${nth}`, pool: nth % POOLS, poolKind })
    })
    return createClaims(this.#client, claims)
  }

  async #writes(): Promise<number> {
    return (await requestsOf(this.#ground.server, [GROUP])).writes
  }
}
