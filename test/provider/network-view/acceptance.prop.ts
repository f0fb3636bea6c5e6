import fc from 'fast-check'
import { ClusterNetwork } from 'ipam-kit/crd/ipam-kit'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { acceptedRanges, networkViewPlanner } from 'ipam-kit/provider/network-view'
import { runKey } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { expect, test } from 'vitest'
import { runs } from '../../setup/depth.js'
import { clusterCIDR } from './world.js'

const CIDR = '10.0.0.0/16'
const LIMIT_SECONDS = 50
const networkRef = { apiVersion: ClusterNetwork.info.apiVersion, kind: 'ClusterNetwork', name: 'pods' }
const rangeRef = { apiVersion: ClusterCIDR.info.apiVersion, kind: 'ClusterCIDR', name: 'a' }
const CONSUMERS = ['x', 'y'] as const

type Step =
  | { readonly do: 'configure' | 'delete' }
  | { readonly do: 'wait'; readonly seconds: number }
  | { readonly do: 'answer'; readonly consumer: (typeof CONSUMERS)[number]; readonly accepted: boolean | undefined }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.constantFrom<Step>({ do: 'configure' }, { do: 'delete' }),
  fc.record({ do: fc.constant('wait' as const), seconds: fc.constantFrom(20, 30, 70) }),
  fc.record({
    do: fc.constant('answer' as const),
    consumer: fc.constantFrom(...CONSUMERS),
    accepted: fc.constantFrom(true, true, false, undefined),
  }),
)

test('a range is active only by the answers, by the time limit, or as it was active before', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), fc.boolean(), async (steps, hasLimit) => {
      let nowMs = 0
      const now = () => nowMs
      const store = memoryStore({ now, kinds: [ClusterCIDR.info, ClusterNetwork.info] })
      const spec = {
        consumers: CONSUMERS.map((each) => ({ name: each })),
        ...(hasLimit ? { acceptanceSeconds: LIMIT_SECONDS } : {}),
      }
      const { apiVersion, kind, name } = networkRef
      await store.create({ apiVersion, kind, metadata: { name }, spec })
      const planner = networkViewPlanner()
      const answers = new Map<string, boolean>()
      const model = { isConfigured: false, mayReturn: false, proposedMs: 0, state: '' }
      const look = async () => {
        for (const info of [ClusterCIDR.info, ClusterNetwork.info]) {
          const listed = await store.list(info)
          if (!listed.ok) throw new Error('no list')
          for (const object of listed.value.items) planner.observe({ kind: 'present', object })
        }
        if (!model.isConfigured) planner.observe({ kind: 'absent', ref: rangeRef })
        for (let round = 0; round < 2; round++) {
          await runKey(planner, 'pods', store, { now, show: (change) => void planner.observe(change) })
        }
        const read = await store.get(networkRef)
        if (!read.ok) throw new Error('no ClusterNetwork')
        return ClusterNetwork.parse(read.value)
      }
      await look()
      for (const each of steps) {
        if (each.do === 'configure' && !model.isConfigured) {
          const { metadata, ...object } = clusterCIDR('a', CIDR)
          await store.create({ ...object, metadata: { name: metadata.name } })
          model.isConfigured = true
          model.proposedMs = nowMs
        } else if (each.do === 'delete' && model.isConfigured) {
          await store.delete(rangeRef)
          model.isConfigured = false
        } else if (each.do === 'wait') {
          nowMs += each.seconds * 1000
        } else if (each.do === 'answer') {
          if (each.accepted === undefined) answers.delete(each.consumer)
          else answers.set(each.consumer, each.accepted)
          const list = [...answers].map(([consumer, accepted]) => ({ cidr: CIDR, consumer, accepted }))
          await store.patch(networkRef, { status: { answers: list } }, { subresource: 'status' })
        }
        const network = await look()
        const state = network.status?.ranges?.[0]?.state ?? ''
        const values = CONSUMERS.map((consumer) => answers.get(consumer))
        const isDue = hasLimit && nowMs - model.proposedMs >= LIMIT_SECONDS * 1000
        const isAnswered = values.every((accepted) => accepted === true)
        const mayBe = !values.includes(false) && (isAnswered || isDue || model.mayReturn)
        if (model.isConfigured) expect(state).toBe(model.state === 'Active' || mayBe ? 'Active' : 'Proposed')
        else expect(state).not.toMatch(/Active|Proposed/)
        expect(acceptedRanges(network)?.has(CIDR)).toBe(state === 'Active')
        // of a range that is deleted, what it was is known until it is no longer published
        if (state === 'Terminating' && isAnswered) model.mayReturn = true
        if (state === 'Active') model.mayReturn = true
        else if (state === '' || values.includes(false)) model.mayReturn = false
        model.state = state
      }
    }),
    { numRuns: runs(2) },
  )
})
