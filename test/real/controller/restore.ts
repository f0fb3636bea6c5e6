import assert from 'node:assert/strict'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { waitFor } from '../servers/tools.js'
import { Client } from './client.js'
import { type Ground, startGround } from './ground.js'
import { ControllerProcess } from './process.js'

const GROUP = 'ipam.cluster.x-k8s.io'
const POOLS = `/apis/${GROUP}/v1alpha2/namespaces/default/inclusterippools`
const CLAIMS = `/apis/${GROUP}/v1beta2/namespaces/default/ipaddressclaims`
const ADDRESSES = `/apis/${GROUP}/v1beta2/namespaces/default/ipaddresses`
const PATIENCE_SECONDS = 60

/**
 * The database goes back to an earlier state, below a controller that runs: what it remembers says
 * that an address is free which is in use again. It has to end, and the one that comes after it has
 * to give it to nobody.
 */
export async function restores(program: string): Promise<string> {
  const ground = await startGround('upstream', { bare: true })
  const world = new World(ground, program)
  try {
    return await world.run()
  } finally {
    await world.close()
    await ground.server.stop()
  }
}

class World {
  readonly #ground: Ground
  readonly #program: string
  readonly #client: Client
  #controller: ControllerProcess | undefined

  constructor(ground: Ground, program: string) {
    this.#ground = ground
    this.#program = program
    this.#client = new Client(ground.server, 2)
  }

  async run(): Promise<string> {
    const spec = { addresses: ['10.0.0.10-10.0.0.13'], prefix: 24 }
    const body = { apiVersion: `${GROUP}/v1alpha2`, kind: 'InClusterIPPool', metadata: { name: 'pool' }, spec }
    await this.#client.send('POST', POOLS, { body })
    await this.#start()
    const [a, b] = [await this.#bind('a'), await this.#bind('b')]
    const copy = await this.#backUp()
    // time goes on after the copy: what `a` had is given to another, by a controller that has seen
    // both. The pool is full, so that `d` gets no other address when the controller sees it early
    await this.#bind('c')
    await this.#bind('full')
    await this.#client.send('DELETE', `${CLAIMS}/a`)
    await this.#until('a has gone', async () => (await this.#addresses()).size === 3 || undefined)
    assert.equal(await this.#bind('d'), a)
    await this.#client.send('DELETE', `${CLAIMS}/d`)
    await this.#until('d has gone', async () => (await this.#addresses()).size === 3 || undefined)

    await this.#restore(copy)
    const ended = await this.#controller!.ended(PATIENCE_SECONDS)
    const said = this.#controller!.lines.join('\n')
    assert.equal(ended, 1, said)
    assert.match(said, /restored to an earlier state/)
    assert.deepEqual(
      await this.#addresses(),
      new Map([
        ['a', a],
        ['b', b],
      ]),
    )

    await this.#start()
    const later = [await this.#bind('e'), await this.#bind('f')]
    assert.equal(new Set([a, b, ...later]).size, 4)
    return `the controller has ended, and the next one gave ${later.join(' and ')} beside ${a} and ${b}`
  }

  async close(): Promise<void> {
    this.#client.close()
    await this.#controller?.stop('SIGKILL')
  }

  async #start(): Promise<void> {
    this.#controller = new ControllerProcess(this.#program, this.#ground.kubeconfig)
    await this.#controller.untilItLeads()
  }

  /** @returns the address that it gets */
  async #bind(name: string): Promise<string> {
    const poolRef = { apiGroup: GROUP, kind: 'InClusterIPPool', name: 'pool' }
    const body = { apiVersion: `${GROUP}/v1beta2`, kind: 'IPAddressClaim', metadata: { name }, spec: { poolRef } }
    await this.#client.send('POST', CLAIMS, { body })
    await this.#until(`${name} is bound`, async () => {
      const { status } = await this.#client.send<IPAddressClaim>('GET', `${CLAIMS}/${name}`)
      return status?.addressRef === undefined ? undefined : true
    })
    return (await this.#addresses()).get(name)!
  }

  /** Addresses by the name of their claims. */
  async #addresses(): Promise<Map<string, string>> {
    const addresses = await this.#client.list(ADDRESSES)
    return new Map(
      addresses.map(({ metadata, spec }) => [metadata.name, (spec as { readonly address: string }).address]),
    )
  }

  async #backUp(): Promise<string> {
    const { server } = this.#ground
    const copy = join(server.folder, 'backup')
    await server.kill()
    cpSync(this.#data, copy, { recursive: true })
    await server.restart()
    return copy
  }

  async #restore(copy: string): Promise<void> {
    const { server } = this.#ground
    await server.kill()
    rmSync(this.#data, { recursive: true })
    cpSync(copy, this.#data, { recursive: true })
    await server.restart()
  }

  get #data(): string {
    return join(this.#ground.server.folder, 'etcd')
  }

  #until(what: string, attempt: () => Promise<true | undefined>): Promise<unknown> {
    const explain = () => this.#controller?.lines.slice(-20).join('\n') ?? ''
    return waitFor(attempt, { seconds: PATIENCE_SECONDS, else: `not: ${what}`, explain })
  }
}
