import fc from 'fast-check'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import type { ObjectRef } from 'ipam-kit/crd/meta'
import { IPPool, OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { expect, test } from 'vitest'
import { Pod } from '../../../../src/crd/core/pod.js'
import { Host, KINDS, objectsOf } from './host.js'
import { addressAt, PLACES, type Rules, reservationAt, Truth } from './truth.js'

const NAMESPACE = 'kube-system'
const START_MS = Date.UTC(2026, 0, 1)
const POD_NAMES = ['default/p0', 'default/p1', 'other/p2'] as const
const PODREFS = [...POD_NAMES, ...POD_NAMES, 'default/gone', '', 'no-slash'] as const
const CLAIMS = ['default/vm0', 'other/vm1'] as const
const INTERFACES = ['net1', 'net2', ''] as const

/** Rows that are not understood, and one that is, with a key that upstream does not write. */
const ODD_ROWS = {
  x: { id: 'c', podref: 'default/gone' },
  '99999999999999999999999': { id: 'c', podref: 'default/gone' },
  '8': { odd: true },
  '09': { id: 'c', podref: 'default/gone', ifname: 'net1' },
}

interface RowAct {
  readonly do: 'row'
  readonly pool: number
  readonly offset: number
  readonly podref: string
  readonly ifname: string
  readonly holder: 'pod' | 'claim' | 'name' | 'idle' | 'idleNamed' | 'owner' | 'idleOwner'
  readonly claim: number
}

interface PodAct {
  readonly do: 'pod'
  readonly pod: number
  readonly phase: string
  readonly status: string | readonly { readonly pool: number; readonly offset: number; readonly ifname: string }[]
  readonly isEvicted: boolean
  readonly hasPodIP: boolean
}

type ClaimAct =
  | { readonly do: 'claim' | 'claimGone'; readonly claim: number }
  | { readonly do: 'claimStatus'; readonly claim: number; readonly ips: readonly (readonly [number, number])[] }

/** What other programs do to the objects. */
type Act =
  | RowAct
  | PodAct
  | ClaimAct
  | { readonly do: 'rowGone' | 'reservationGone'; readonly pool: number; readonly offset: number }
  | { readonly do: 'reservation'; readonly pool: number; readonly offset: number; readonly podref: string }
  | { readonly do: 'podGone'; readonly pod: number }

/** What happens to the sweep. */
type Turn =
  | Act
  | { readonly do: 'see'; readonly kind: number; readonly count: number }
  | { readonly do: 'plan'; readonly which: number }
  | { readonly do: 'wait'; readonly seconds: number }

const [pool, offset, ifname] = [
  fc.nat(PLACES.length - 1),
  fc.integer({ min: 1, max: 2 }),
  fc.constantFrom(...INTERFACES),
]
const [pod, claim, podref] = [fc.nat(POD_NAMES.length - 1), fc.nat(CLAIMS.length - 1), fc.constantFrom(...PODREFS)]
const holder = fc.constantFrom<RowAct['holder'][]>(
  ...(['pod', 'pod', 'pod', 'pod', 'claim', 'name', 'idle', 'idleNamed', 'owner', 'idleOwner'] as const),
)
const row = fc.record<RowAct>({ do: fc.constant('row'), pool, offset, podref, ifname, holder, claim })
const status = fc.oneof(
  { weight: 4, arbitrary: fc.array(fc.record({ pool, offset, ifname }), { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom('none', 'junk') },
)
const podAct = fc.record<PodAct>({
  do: fc.constant('pod'),
  pod,
  phase: fc.constantFrom('Pending', 'Running', 'Running', 'Running', 'Succeeded', 'Failed'),
  status,
  isEvicted: fc.nat(5).map((nth) => nth === 0),
  hasPodIP: fc.boolean(),
})
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 8, arbitrary: row },
  { weight: 6, arbitrary: podAct },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('podGone' as const), pod }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('claim' as const, 'claim' as const, 'claimGone' as const), claim }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('claimStatus' as const),
      claim,
      ips: fc.array(fc.tuple(pool, offset), { maxLength: 2 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('reservation' as const), pool, offset, podref }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('rowGone' as const, 'reservationGone' as const), pool, offset }),
  },
)
const turn: fc.Arbitrary<Turn> = fc.oneof(
  { weight: 10, arbitrary: act },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('see' as const),
      kind: fc.nat(KINDS.length - 1),
      count: fc.integer({ min: 1, max: 5 }),
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('plan' as const), which: fc.nat(7) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), seconds: fc.integer({ min: 1, max: 90 }) }) },
)
const rules = fc.record<Rules>({
  completedPods: fc.constantFrom('keep', 'free'),
  evictedPods: fc.constantFrom('keep', 'free'),
})

/** The objects, and the programs that write them. */
class World {
  nowMs = START_MS
  readonly store: Store = memoryStore({ kinds: [...KINDS], now: () => this.nowMs })
  readonly #uids = CLAIMS.map((_, nth) => `0000000${nth}-0000-4000-8000-000000000000`)

  async begin(): Promise<this> {
    // so that there is a version to watch from
    await this.play({ do: 'claim', claim: 0 })
    await this.play({ do: 'claimGone', claim: 0 })
    for (const { pool: name, range } of PLACES) {
      const spec = { range, allocations: ODD_ROWS }
      unwrap(await this.store.create({ ...typeOf(IPPool), metadata: { namespace: NAMESPACE, name }, spec } as never))
    }
    return this
  }

  async play(one: Act): Promise<void> {
    switch (one.do) {
      case 'row':
        return this.#row(one)
      case 'rowGone':
        return this.#allocate(one, null)
      case 'reservation': {
        const metadata = { namespace: NAMESPACE, name: reservationAt(PLACES[one.pool]!, one.offset) }
        const spec = { podref: one.podref, ifname: 'net1' }
        await this.store.create({ ...typeOf(OverlappingRangeIPReservation), metadata, spec } as never)
        return
      }
      case 'reservationGone': {
        const name = reservationAt(PLACES[one.pool]!, one.offset)
        await this.store.delete({ ...typeOf(OverlappingRangeIPReservation), namespace: NAMESPACE, name })
        return
      }
      case 'pod':
        return this.#pod(one)
      case 'podGone':
        await this.store.delete(refTo(Pod, POD_NAMES[one.pod]!))
        return
      default:
        return this.#claim(one)
    }
  }

  async #row({ claim: nth, ...one }: RowAct): Promise<void> {
    const [path, uid] = [CLAIMS[nth]!, this.#uids[nth]!]
    const own = { id: `c-${one.podref}`, podref: one.podref, ...(one.ifname !== '' && { ifname: one.ifname }) }
    const marks = { ipamclaim: path, ipamclaimuid: uid }
    const owner = { ipamowner: path, ipamownerkind: 'VirtualMachine', ipamowneruid: 'u' }
    const rows: { readonly [H in RowAct['holder']]: object } = {
      pod: own,
      claim: { ...own, ...marks },
      name: { ...own, ipamclaim: path },
      idle: { id: uid, podref: '' },
      idleNamed: { id: uid, podref: '', ...marks },
      owner: { ...own, ...owner },
      idleOwner: { id: 'owner:u', podref: '' },
    }
    // a merge patch leaves members of the row before
    await this.#allocate(one, null)
    await this.#allocate(one, rows[one.holder])
  }

  async #allocate(
    { pool: nth, offset: at }: { readonly pool: number; readonly offset: number },
    stored: object | null,
  ) {
    const ref = { ...typeOf(IPPool), namespace: NAMESPACE, name: PLACES[nth]!.pool }
    unwrap(await this.store.patch(ref, { spec: { allocations: { [at]: stored } } } as never))
  }

  async #pod(one: PodAct): Promise<void> {
    const ref = refTo(Pod, POD_NAMES[one.pod]!)
    const { apiVersion, kind, ...metadata } = ref
    await this.store.create({ apiVersion, kind, metadata, spec: {} } as never)
    const annotations = { 'k8s.v1.cni.cncf.io/network-status': statusOf(one.status) }
    unwrap(await this.store.patch(ref, { metadata: { annotations } } as never))
    const condition = { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByTaintManager' }
    const conditions = one.isEvicted ? [condition] : []
    const podIPs = one.hasPodIP ? [{ ip: '10.20.0.1' }] : []
    const written = { status: { phase: one.phase, conditions, podIPs } }
    unwrap(await this.store.patch(ref, written as never, { subresource: 'status' }))
  }

  async #claim(one: ClaimAct): Promise<void> {
    const ref = refTo(IPAMClaim, CLAIMS[one.claim]!)
    const { apiVersion, kind, ...metadata } = ref
    if (one.do === 'claimGone') {
      await this.store.delete(ref)
    } else if ('ips' in one) {
      const ips = one.ips.map(([nth, at]) => `${addressAt(PLACES[nth]!, at)}/24`)
      await this.store.patch(ref, { status: { ips } }, { subresource: 'status' })
    } else {
      const made = await this.store.create({ apiVersion, kind, metadata, spec: { network: 'n', interface: '' } })
      if (made.ok) this.#uids[one.claim] = made.value.metadata.uid!
    }
  }
}

function typeOf({
  info: { apiVersion, kind },
}: {
  readonly info: { readonly apiVersion: string; readonly kind: string }
}) {
  return { apiVersion, kind }
}

function refTo(model: Parameters<typeof typeOf>[0], path: string): ObjectRef {
  const [namespace, name] = path.split('/') as [string, string]
  return { ...typeOf(model), namespace, name }
}

/** Other texts of the same addresses. */
function statusOf(given: PodAct['status']): string | null {
  if (typeof given === 'string') return given === 'none' ? null : given
  const networks = given.map((one, nth) => {
    const text = addressAt(PLACES[one.pool]!, one.offset)
    return { name: `n${nth}`, interface: one.ifname, ips: [text.replace('fd00:20::', 'FD00:20:0:0:0:0:0:000')] }
  })
  return JSON.stringify(networks)
}

test('no live address is freed while watches are late, and in the end all others are', async () => {
  const turns = fc.array(turn, { minLength: 10, maxLength: 80, size: 'max' })
  // of what happens at rest, each event has to wake what it concerns
  const later = fc.array(fc.array(act, { minLength: 1, maxLength: 2 }), { maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(rules, turns, later, async (given, early, rounds) => {
      const world = await new World().begin()
      const host = new Host(world.store, given, START_MS)
      await host.seeAll()
      for (const one of early) {
        if (one.do === 'see') for (let count = 0; count < one.count; count++) await host.see(one.kind)
        else if (one.do === 'plan') await host.plan(one.which)
        else if (one.do === 'wait') host.nowMs += one.seconds * 1000
        else {
          await world.play(one)
          // the address of a claim protects a row only once the sweep knows it
          if (one.do === 'claimStatus') await host.seeClaims()
        }
      }
      for (const round of [[], ...rounds]) {
        for (const one of round) await world.play(one)
        await host.rest()
        expect((await host.truth()).surplus).toEqual([])
      }
    }),
  )
})

test('the order of events makes no difference', async () => {
  const order = fc.array(fc.nat(30), { maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(
      rules,
      fc.array(act, { minLength: 5, maxLength: 40, size: 'max' }),
      order,
      async (given, acts, picks) => {
        for (const orders of [[], picks]) {
          const world = await new World().begin()
          for (const one of acts) await world.play(one)
          const before = new Truth(await objectsOf(world.store), given)
          const host = new Host(world.store, given, START_MS)
          for (const pick of orders) await host.see(pick % KINDS.length)
          await host.rest(orders)
          expect((await host.truth()).names).toEqual(before.settled().names)
        }
      },
    ),
  )
})
