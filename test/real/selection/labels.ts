import assert from 'node:assert/strict'
import type { ObjectRef } from 'ipam-kit/crd/meta'
import { type Delta, definePlanner, type Outcome } from 'ipam-kit/plan'
import { timers } from '../blocks/ground.js'
import { Client } from '../controller/client.js'
import type { Report } from '../report.js'
import { importClient } from '../servers/install.js'
import type { RealKubernetes } from '../servers/kubernetes.js'
import { openLine, storeOver } from './line.js'
import { APP, appOf, type Created, deletePod, keyOf, patchLabels } from './pods.js'
import { trimmedPods } from './watches.js'
import { Work } from './work.js'

/** A Pod that has left the selection. */
interface Left {
  readonly ref: ObjectRef
  readonly uid: string
  /** Whether the store was asked for it. */
  isAskedFor: boolean
}

/** A removed label and a deleted Pod arrive alike. Only the store can tell them apart. */
export async function losesLabel(report: Report, server: RealKubernetes, created: readonly Created[]): Promise<void> {
  await report.test('a label that is removed arrives as a deletion, and proves no absence', async () => {
    const [unlabelled, deleted] = created.filter(({ number }) => appOf(number) === APP)
    const watches = { selected: trimmedPods({ labels: { app: APP } }), all: trimmedPods() }
    const proofs = new Map<string, readonly [presence: string, isProven: boolean]>()
    const planner = definePlanner<Outcome, typeof watches, Map<string, Left>>({
      name: 'leavers',
      watches,
      state: () => new Map(),
      wakes: {
        all: () => [],
        selected({ ref, before, now }: Delta<string>, { state }) {
          const key = keyOf({ metadata: ref })
          const uid = before?.object.metadata.uid
          if (now !== undefined) state.delete(key)
          else if (uid !== undefined) state.set(key, { ref, uid, isAskedFor: false })
          return state.has(key) ? [key] : []
        },
      },
      plan(key, { cache: { selected }, state }) {
        const left = state.get(key)
        if (left === undefined) return undefined
        const isProven = selected.isProvenAbsent(left.ref, left.uid)
        if (!proofs.has(key)) proofs.set(key, [selected.presence(key), isProven])
        const outcome = { kind: isProven ? 'gone' : left.isAskedFor ? 'lives' : 'unknown', message: key }
        if (isProven || left.isAskedFor) return { outcome, effects: [] }
        left.isAskedFor = true
        return { outcome, effects: [{ kind: 'absent', ref: left.ref, uid: left.uid, why: 'has left the selection' }] }
      },
    })
    const outcomes = new Map<string, string>()
    const problems: unknown[] = []
    const work = new Work({
      store: storeOver(await openLine(server.kubeconfig.path, importClient)),
      planners: [planner],
      timers,
      onProblem: (problem) => void problems.push(problem),
      onResult: ({ key, outcome }) => void outcomes.set(key, outcome?.kind ?? 'none'),
    })
    const admin = new Client(server, 1)
    try {
      await work.start()
      await patchLabels(admin, unlabelled!.key, { app: null })
      await deletePod(admin, deleted!.key)
      await work.until('the Pod without the label is not found', () => outcomes.get(unlabelled!.key) === 'lives')
      await work.until('the absence of the deleted Pod is not proven', () => outcomes.get(deleted!.key) === 'gone')
      const { selected, all } = planner.context.cache
      assert.deepEqual(
        [...proofs.values()],
        [
          ['unknown', false],
          ['unknown', false],
        ],
      )
      assert.equal(selected.entry(unlabelled!.key), undefined)
      assert.equal(selected.isProvenAbsent(unlabelled!.key, unlabelled!.uid), false)
      assert.equal(all.presence(unlabelled!.key), 'present')
      await work.until('the deletion has not arrived', () => all.presence(deleted!.key) === 'absent')
      await patchLabels(admin, unlabelled!.key, { app: APP })
      await work.until('the label has not arrived', () => selected.presence(unlabelled!.key) === 'present')
      assert.deepEqual(problems, [])
    } finally {
      admin.close()
      await work.stop()
    }
    return undefined
  })
}
