import type { Meta } from 'ipam-kit/crd'
import { IPPool, OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import type { Outcome, Task } from 'ipam-kit/plan'
import { blocksOperator } from 'ipam-kit/provider/blocks'
import {
  copyRows,
  cutOver,
  finishUpgrade,
  poolsOf,
  type RollBackRequest,
  rollBack,
  startUpgrade,
  verifyUpgrade,
} from 'ipam-kit/provider/whereabouts-blocks'
import { runTask, runUntilQuiet } from 'ipam-kit/run'
import type { Stage } from '../scenario.js'
import { config, network, POOL, podRef } from './objects.js'

const TASKS: { readonly [name: string]: (request: RollBackRequest) => Task<Outcome> } = {
  startUpgrade,
  copyRows,
  verifyUpgrade,
  cutOver,
  rollBack,
  finishUpgrade,
}

/** What an operator does to bring the pool to blocks. */
export class Upgrade {
  readonly #stage: Stage
  /** Ends of tasks that were not to be expected. */
  readonly surprises: string[] = []
  #told: string[] = []

  constructor(stage: Stage) {
    this.#stage = stage
  }

  /** Creates the pool of blocks, which the operator accepts. */
  async prepare(): Promise<void> {
    const { store, clock } = this.#stage
    for (const pool of unwrap(poolsOf(network))) unwrap(await store.create(pool))
    await runUntilQuiet(store, [blocksOperator()], { now: () => clock.nowMs })
  }

  /** Runs tasks, one after the other. Each is expected to end with an outcome of this kind. */
  async run(...steps: readonly (readonly [task: string, kind: string, to?: RollBackRequest['to']])[]): Promise<void> {
    const { store, clock } = this.#stage
    for (const [name, kind, to = 'none'] of steps) {
      clock.tick()
      const task = TASKS[name] as NonNullable<(typeof TASKS)[string]>
      const result = await runTask(task({ pool: POOL, networks: [config], to }), store, { now: () => clock.nowMs })
      const { kind: ended, message } =
        result.kind === 'done' ? result.outcome : { kind: result.kind, message: result.failure.message }
      this.#told.push(`${name}: ${message}`)
      if (ended !== kind) this.surprises.push(`${name}: ${ended}: ${message}`)
    }
  }

  /** A plugin of upstream writes a row, and its reservation: it does not read the phase. */
  async writeAsUpstream(pod: string, address: string): Promise<void> {
    const { store } = this.#stage
    const { namespace, name } = podRef(pod)
    const row = { id: `c-${pod}`, podref: `${namespace}/${name}`, ifname: 'net1' }
    const key = address.split('.').at(-1) as string
    unwrap(await store.patch(objectRef(IPPool.info, POOL), { spec: { allocations: { [key]: row } } }))
    const { podref, ifname } = row
    const { apiVersion, kind, ...metadata } = objectRef(OverlappingRangeIPReservation.info, address)
    unwrap(await store.create({ apiVersion, kind, metadata, spec: { podref, ifname } } as Meta.KubeObject))
  }

  /** How the tasks since the last call have ended. */
  told(): readonly string[] {
    const told = this.#told
    this.#told = []
    return told
  }
}

function objectRef({ apiVersion, kind }: Meta.KindInfo, name: string): Meta.ObjectRef {
  return { apiVersion, kind, namespace: 'kube-system', name }
}
