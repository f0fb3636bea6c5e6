// A process that is killed while it works: people come and go, the in-cluster provider serves them,
// and every write is told to the parent before it is tried and again when it is answered.
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { formatRef, type KubeObject, type ObjectRef, refOf } from 'ipam-kit/crd/meta'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { runUntilQuiet } from 'ipam-kit/run'
import type { Store, StoreResult } from 'ipam-kit/store'
import { Dice, storeOver } from 'ipam-kit/testing'
import { inClusterSystem } from '../../../src/testing/simulation/in-cluster-system.js'
import { type Engine, openStore } from './open.js'
import type { Told } from './told.js'

const [engine, url, seed] = process.argv.slice(2) as [Engine, string, string]
const { store } = await openStore(engine, url, (name) => import(name))
const told = tellingStore(store)
tell({ kind: 'ready' })
await once(process.stdin, 'data')

const dice = new Dice(Number(seed))
const { act } = inClusterSystem()
for (;;) {
  for (let i = dice.below(3); i >= 0; i--) await act(told, dice)
  await runUntilQuiet(told, [inCluster()], { now: Date.now })
}

function tell(line: Told): void {
  writeSync(1, `${JSON.stringify(line)}\n`)
}

function tellingStore(below: Store): Store {
  const write = async (ref: ObjectRef, action: () => StoreResult<KubeObject>) => {
    const object = formatRef(ref)
    tell({ kind: 'try', object })
    const answer = await action()
    if (!answer.ok) tell({ kind: 'failed', object, code: answer.failure.code })
    else {
      const { uid, resourceVersion, deletionTimestamp, finalizers = [] } = answer.value.metadata
      tell({
        kind: 'done',
        object,
        uid: uid!,
        version: resourceVersion!,
        isHeld: deletionTimestamp === undefined || finalizers.length > 0,
      })
    }
    return answer
  }
  return storeOver(below, {
    create: (object) => write(refOf(object), () => below.create(object)),
    update: (object, options) => write(refOf(object), () => below.update(object, options)),
    patch: (ref, patch, options) => write(ref, () => below.patch(ref, patch, options)),
    delete: async (ref, options) => {
      const object = formatRef(ref)
      tell({ kind: 'try', object })
      const answer = await below.delete(ref, options)
      if (!answer.ok) tell({ kind: 'failed', object, code: answer.failure.code })
      else {
        const { uid, resourceVersion, finalizers = [] } = answer.value.metadata
        tell({ kind: 'done', object, uid: uid!, version: resourceVersion!, isHeld: finalizers.length > 0 })
      }
      return answer
    },
  })
}
