import type { WatchEvent } from 'ipam-kit/store'
import { etcdGateway, etcdStore } from 'ipam-kit/store/etcd'
import type { EtcdStoreOptions } from '../../src/store/etcd/etcd-store.js'
import type { EtcdHttpResponse } from '../../src/store/etcd/gateway.js'
import { EtcdModel } from './etcd-model.js'
import { settle } from './settle.js'

const pools = { apiVersion: 'x.dev/v1', kind: 'Pool', namespace: 'n' }
export const pool = (name: string) => ({ apiVersion: 'x.dev/v1', kind: 'Pool', metadata: { namespace: 'n', name } })
let uids = 0

/** Time that passes only when it is told to. */
class Clock {
  #now = 0
  #waiting: { readonly at: number; readonly done: () => void }[] = []

  get sleepers(): number {
    return this.#waiting.length
  }

  readonly sleep = (ms: number) => {
    return new Promise<void>((done) => this.#waiting.push({ at: this.#now + ms, done }))
  }

  async pass(seconds: number): Promise<void> {
    const end = this.#now + seconds * 1_000
    for (;;) {
      await settle()
      const next = Math.min(...this.#waiting.map(({ at }) => at))
      if (next > end) break
      this.#now = next
      const due = this.#waiting.filter(({ at }) => at <= next)
      this.#waiting = this.#waiting.filter(({ at }) => at > next)
      for (const { done } of due) done()
    }
    this.#now = end
  }
}

/** The connection of a watch, which can go silent without an end. */
export class Wire {
  isSilent = false
  isCanceled = false
  /** What comes is kept back until then. */
  delay: Promise<unknown> | undefined
  readonly startRevision: string
  /** Ends the connection. */
  cut: () => void = () => {}

  constructor(startRevision: string) {
    this.startRevision = startRevision
  }

  through(response: EtcdHttpResponse): EtcdHttpResponse {
    const stream = response.body!.getReader()
    const ended = new Promise<{ done: true }>((resolve) => {
      this.cut = () => resolve({ done: true })
    })
    const read = async () => {
      const step = await Promise.race([ended, stream.read()])
      await this.delay
      return this.isSilent ? ended : step
    }
    const cancel = async () => {
      this.isCanceled = true
      this.cut()
      await stream.cancel()
    }
    return { ...response, body: { getReader: () => ({ read, cancel }) } }
  }
}

export function open({ sleep }: Partial<Pick<EtcdStoreOptions, 'sleep'>> = {}) {
  const model = new EtcdModel()
  const clock = new Clock()
  const wires: Wire[] = []
  const state: { isSilentAtOpening: boolean; delay?: (() => Promise<unknown>) | undefined } = {
    isSilentAtOpening: false,
  }
  const client = etcdGateway({
    url: 'http://etcd',
    fetch: async (url, request) => {
      const response = await model.fetch(url, request)
      if (!url.endsWith('/watch')) return response
      if (state.isSilentAtOpening) return new Promise(() => {})
      const wire = new Wire(JSON.parse(request.body).create_request.start_revision)
      wire.delay = state.delay?.()
      wires.push(wire)
      return wire.through(response)
    },
  })
  const store = etcdStore(client, { now: Date.now, uid: () => `u${++uids}`, sleep: sleep ?? clock.sleep })
  const events = store.watch(pools, { resourceVersion: '1' })[Symbol.asyncIterator]()
  /** What the watch tells, as it does. */
  const told: string[] = []
  const problems: unknown[] = []
  const read = async () => {
    for (;;) {
      const { value, done } = await events.next()
      if (done === true) return
      told.push(outline(value))
      if (value.type === 'ERROR' && 'problem' in value.failure.context) problems.push(value.failure.context.problem)
    }
  }
  const asked = () => model.calls.splice(0).map((path) => path.slice(path.lastIndexOf('/') + 1))
  return { model, clock, wires, state, store, events, told, problems, read, asked }
}

/** A watch that tells that it has begun, and nothing more. */
export function begun(model: EtcdModel, isEnded = false): EtcdHttpResponse {
  const line = `{"result":{"header":{"revision":"${model.revision}"},"created":true}}\n`
  const steps: { done: boolean; value?: Uint8Array }[] = [{ done: false, value: new TextEncoder().encode(line) }]
  let end = () => {}
  const ended = new Promise<{ done: boolean }>((resolve) => {
    end = () => resolve({ done: true })
  })
  if (isEnded) end()
  const reader = { read: async () => steps.shift() ?? ended, cancel: async () => end() }
  return { status: 200, text: async () => '', body: { getReader: () => reader } }
}

/** A write of another process. */
export function foreign(model: EtcdModel, name: string): void {
  model.put(`ipam-kit/x.dev/Pool/n,${name}`, JSON.stringify(pool(name)))
}

/** One that has begun, and to which nothing comes any more. */
export async function openSilent() {
  const parts = open()
  void parts.read()
  await parts.clock.pass(1)
  parts.wires[0]!.isSilent = true
  return parts
}

export function outline(event: WatchEvent): string {
  if (event.type === 'ERROR') return `ERROR ${event.failure.code}`
  return event.type === 'BOOKMARK' ? `AT ${event.resourceVersion}` : `${event.type} ${event.object.metadata.name}`
}
