import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { NETWORK_STATUS_ANNOTATION } from 'ipam-kit/crd/multinet'
import type { Client } from '../controller/client.js'
import { addressesIn, callPlugin, type Subject } from './runtime.js'

const PODS = '/api/v1/namespaces/default/pods'
/** The CNI code for what ends by itself. */
const TRY_AGAIN = 11
const MOST_TRIES = 40

interface Container {
  readonly name: string
  readonly uid: string
  readonly address: string
  /** What its ADD has answered. */
  readonly result: object
  /** The network as it was when the container was added: its DEL has the same. */
  readonly subject: Subject
}

export interface LoadParts {
  readonly admin: Client
  readonly folder: string
  readonly workers: number
  /** How many containers a worker has at most. */
  readonly containers: number
}

/** Containers of Pods that come and go all the time, by a process for each ADD and DEL. */
export class Load {
  /** The network of the next ADDs. */
  subject: Subject
  /** Why an ADD or DEL has not ended as it has to. */
  readonly failures: string[] = []
  adds = 0
  readonly #parts: LoadParts
  readonly #held = new Map<string, Container>()
  #working: Promise<unknown> = Promise.resolve()
  #isRunning = false
  #count = 0

  constructor(subject: Subject, parts: LoadParts) {
    this.subject = subject
    this.#parts = parts
  }

  /** The container of each address. */
  get held(): ReadonlyMap<string, string> {
    return new Map([...this.#held].map(([address, { name }]) => [address, name]))
  }

  /** The networks with which the containers were added. */
  get subjects(): readonly Subject[] {
    return [...this.#held.values()].map(({ subject }) => subject)
  }

  start(): void {
    this.#isRunning = true
    const { workers } = this.#parts
    this.#working = Promise.all(Array.from({ length: workers }, (_, nth) => this.#work(nth)))
  }

  /** Waits until each call has ended. */
  async rest(): Promise<void> {
    this.#isRunning = false
    await this.#working
    assert.deepEqual(this.failures, [])
  }

  /** Calls CHECK for every container: it has the address of its ADD. */
  async check(): Promise<void> {
    for (const container of this.#held.values()) {
      const { result: prevResult } = container
      const call = { ...callOf(container), config: { prevResult } }
      const { exit, json } = await callPlugin(container.subject, this.#parts.folder, 'CHECK', call)
      assert.deepEqual([exit, json], [0, undefined], `CHECK of ${container.name}`)
    }
  }

  /** DEL of every container. */
  async empty(): Promise<void> {
    for (const container of [...this.#held.values()]) await this.#del(container)
  }

  async #work(worker: number): Promise<void> {
    const own: Container[] = []
    for (const container of this.#held.values()) if (container.name.startsWith(`w${worker}-`)) own.push(container)
    try {
      for (let turn = 0; this.#isRunning; turn++) {
        const isFull = own.length >= this.#parts.containers
        // the oldest one leaves: those of the type before are gone after a while
        if (isFull || (turn % 3 === 2 && own.length > 1)) await this.#del(own.shift() as Container)
        else own.push(await this.#add(`w${worker}-${this.#count++}`))
      }
    } catch (error) {
      this.failures.push((error as Error).message)
    }
  }

  async #add(name: string): Promise<Container> {
    const { admin, folder } = this.#parts
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: POD_SPEC }
    const pod = await admin.send<{ readonly metadata: { readonly uid: string } }>('POST', PODS, { body })
    const { subject } = this
    const { uid } = pod.metadata
    const ended = await again(() => callPlugin(subject, folder, 'ADD', callOf({ name, uid })))
    const [address = ''] = addressesIn(ended)
    const other = this.#held.get(address)
    assert.equal(other, undefined, `${address} of ${other?.name} is given to ${name} too`)
    const container: Container = { name, uid, address, result: ended.json as object, subject }
    this.#held.set(address, container)
    this.adds++
    const status = JSON.stringify([{ name: 'default/lab', interface: 'net1', ips: [address] }])
    const metadata = { annotations: { [NETWORK_STATUS_ANNOTATION]: status } }
    await admin.send('PATCH', `${PODS}/${name}`, { body: { metadata }, patch: 'merge' })
    return container
  }

  async #del(container: Container): Promise<void> {
    const { admin, folder } = this.#parts
    // from here on another container may get it
    this.#held.delete(container.address)
    const { exit, json } = await again(() => callPlugin(container.subject, folder, 'DEL', callOf(container)))
    assert.deepEqual([exit, json], [0, undefined], `DEL of ${container.name}`)
    await admin.send('DELETE', `${PODS}/${container.name}?gracePeriodSeconds=0`)
  }
}

const POD_SPEC = { nodeName: 'node-a', containers: [{ name: 'c', image: 'i' }] }

function callOf({ name, uid }: Pick<Container, 'name' | 'uid'>) {
  const args = `IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=${name};K8S_POD_UID=${uid}`
  return { container: name, pod: name, env: { CNI_ARGS: args } }
}

/** A runtime calls again after code 11. */
async function again<T extends { readonly exit: number | null; readonly json: unknown }>(
  call: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    const ended = await call()
    const { code } = (ended.json ?? {}) as { readonly code?: number }
    if (ended.exit === 0 || code !== TRY_AGAIN || tries === MOST_TRIES) return ended
    await sleep(100)
  }
}
