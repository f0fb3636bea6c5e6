import fc from 'fast-check'
import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { OpenStackServer } from 'ipam-kit/crd/openstack'
import { OpenStackServer as Servers } from 'ipam-kit/crd/openstack'
import { describe, expect, test } from 'vitest'
import { runs } from '../../setup/depth.js'
import { ADDRESS, CLAIM, claimJson, ownedBy, World } from './world.js'

const OTHER = 'port-of-another'
const CLAIM_FINALIZER = 'openstackmachine.infrastructure.cluster.x-k8s.io/ip-claim'

const step = fc.oneof(
  fc.record({ do: fc.constant('work' as const), seconds: fc.constantFrom(0, 1, 5, 30, 60, 700) }),
  fc.record({
    do: fc.constantFrom(
      ...(['create', 'delete', 'bind', 'boot', 'die', 'restart', 'pause', 'resume', 'exhaust'] as const),
      ...(['steal', 'free', 'detach', 'unprotect', 'foreign claim', 'foreign goes'] as const),
    ),
  }),
  fc.record({
    do: fc.constant('trouble' as const),
    operation: fc.constantFrom('describeServer', 'attachFloatingIP', 'detachFloatingIP', 'none'),
    isDone: fc.boolean(),
    retryable: fc.boolean(),
  }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** A server, its claim and the cloud, to which anything happens at any time. */
class Life {
  readonly world: World
  #isForeign = false

  readonly #releaseWhen: string

  constructor(onExhausted: 'wait' | 'fail', releaseWhen: 'detached' | 'instanceGone') {
    this.#releaseWhen = releaseWhen
    this.world = new World({ onExhausted, releaseWhen })
    this.world.cloud.floatingIP(ADDRESS)
    const attach = this.world.cloud.attachFloatingIP.bind(this.world.cloud)
    this.world.cloud.attachFloatingIP = async (input) => {
      // the address of another server is never asked for
      const before = this.world.cloud.portOf(ADDRESS)
      expect([before, 'before an attachment']).toEqual(['', 'before an attachment'])
      const claim = await this.world.claim()
      expect(claim?.metadata.finalizers).toContain(CLAIM_FINALIZER)
      expect((await this.server())?.metadata.deletionTimestamp).toBeUndefined()
      return attach(input)
    }
    const { store } = this.world
    const patch = store.patch.bind(store)
    store.patch = async (...all) => {
      const [ref, change] = all
      const { finalizers } =
        (change as { readonly metadata?: { readonly finalizers?: readonly string[] } }).metadata ?? {}
      if (ref.kind === 'IPAddressClaim' && finalizers !== undefined && !this.#isByHand)
        await this.#expectReleasable(finalizers)
      return patch(...all)
    }
  }

  #isByHand = false

  async act(each: Step): Promise<void> {
    const { world } = this
    switch (each.do) {
      case 'work':
        await this.work(each.seconds)
        return
      case 'create':
        if ((await this.server()) === undefined) await world.server()
        return
      case 'delete':
        if ((await this.server()) !== undefined) await world.delete(Servers, 'w1')
        return
      case 'bind':
        if ((await world.claim()) !== undefined && !(await this.#hasAddress())) await world.bind()
        return
      case 'boot':
        if ((await this.server()) !== undefined) await world.boot()
        return
      case 'die':
        world.cloud.instances.clear()
        // ports go, and what is attached to them is free
        if (world.cloud.portOf(ADDRESS) === 'i1-p1') world.cloud.floatingIP(ADDRESS)
        return
      case 'restart':
        world.restart()
        return
      case 'pause':
      case 'resume':
        if ((await this.server()) === undefined) return
        await world.patch(Servers, 'w1', {
          metadata: { annotations: { 'cluster.x-k8s.io/paused': each.do === 'pause' ? '' : null } },
        })
        return
      case 'exhaust':
        if ((await world.claim()) === undefined || (await this.#hasAddress())) return
        await world.patch(IPAddressClaim, CLAIM, { status: { conditions: [EXHAUSTED] } }, 'status')
        return
      case 'steal':
        world.cloud.floatingIP(ADDRESS, OTHER)
        return
      case 'free':
        if (world.cloud.portOf(ADDRESS) === OTHER) world.cloud.floatingIP(ADDRESS)
        return
      case 'detach':
        if (world.cloud.portOf(ADDRESS) === 'i1-p1') world.cloud.floatingIP(ADDRESS)
        return
      case 'unprotect':
        if ((await world.claim()) === undefined || this.#isForeign) return
        this.#isByHand = true
        await world.patch(IPAddressClaim, CLAIM, { metadata: { finalizers: [] } })
        this.#isByHand = false
        return
      case 'foreign claim':
        if ((await world.claim()) !== undefined) return
        await world.create(
          claimJson({ finalizers: [CLAIM_FINALIZER, 'example.com/held'], ...ownedBy('other', 'uid-of-other') }),
        )
        this.#isForeign = true
        return
      case 'foreign goes':
        if (!this.#isForeign) return
        this.#isByHand = true
        await world.patch(IPAddressClaim, CLAIM, { metadata: { finalizers: [] } })
        await world.delete(IPAddressClaim, CLAIM)
        this.#isByHand = false
        this.#isForeign = false
        return
      case 'trouble': {
        const failure = { message: 'trouble', retryable: each.retryable, ...(each.isDone ? {} : { nothingDone: true }) }
        world.cloud.trouble = (asked) => (asked === each.operation ? { failure, isDone: each.isDone } : undefined)
        return
      }
    }
  }

  /** Works, and finds what is of another owner as it was. */
  async work(seconds: number): Promise<void> {
    const before = await this.world.claim()
    const [port, calls] = [this.world.cloud.portOf(ADDRESS), this.world.cloud.calls.length]
    const server = await this.server()
    await this.world.work(seconds)
    if (this.#isForeign) {
      expect(await this.world.claim()).toEqual(before)
      expect(this.world.cloud.calls.slice(calls).filter((call) => call === 'attachFloatingIP')).toEqual([])
    }
    if (port === OTHER) expect(this.world.cloud.portOf(ADDRESS)).toBe(OTHER)
    if (server?.metadata.annotations?.['cluster.x-k8s.io/paused'] !== undefined) {
      expect([await this.server(), await this.world.claim(), this.world.cloud.calls.length]).toEqual([
        server,
        before,
        calls,
      ])
    }
  }

  /** With nothing in the way, a server that is deleted goes, and leaves nothing behind. */
  async end(): Promise<void> {
    const { world } = this
    await this.act({ do: 'foreign goes' })
    world.cloud.trouble = () => undefined
    await this.act({ do: 'resume' })
    // nothing else is waited for than that the address is detached, or that the instance is gone
    if (this.#releaseWhen === 'instanceGone') await this.act({ do: 'die' })
    world.restart()
    await this.act({ do: 'delete' })
    for (const seconds of [0, 60, 60]) await world.work(seconds)
    expect(await this.server()).toBeUndefined()
    expect((await world.claim())?.metadata.finalizers ?? []).toEqual([])
    expect([undefined, '', OTHER]).toContain(world.cloud.portOf(ADDRESS))
  }

  async server(): Promise<OpenStackServer | undefined> {
    return this.world.get<OpenStackServer>(Servers, 'w1')
  }

  async #hasAddress(): Promise<boolean> {
    const claim = await this.world.claim()
    if (claim?.status?.addressRef !== undefined) return true
    return (
      (await this.world.get({ info: { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddress' } }, CLAIM)) !==
      undefined
    )
  }

  /** The finalizer of a claim goes only where the instance does not have the address. */
  async #expectReleasable(finalizers: readonly string[]): Promise<void> {
    const claim = await this.world.claim()
    const isReleased =
      claim?.metadata.finalizers?.includes(CLAIM_FINALIZER) === true && !finalizers.includes(CLAIM_FINALIZER)
    const isBound = claim?.status?.addressRef !== undefined
    if (isReleased && isBound) expect(this.world.cloud.portOf(ADDRESS)).not.toBe('i1-p1')
  }
}

const EXHAUSTED = {
  ...{ type: 'Ready', status: 'False', reason: 'PoolExhausted', message: '' },
  lastTransitionTime: '2026-01-01T00:00:00Z',
}

/** How a server comes to its address, where nothing happens. */
const START: readonly Step[] = [
  { do: 'create' },
  { do: 'work', seconds: 0 },
  { do: 'bind' },
  { do: 'boot' },
  { do: 'work', seconds: 0 },
]

describe('floating IPs of servers', () => {
  test('in any order of events no address is stolen, no claim of others is changed, and each claim is held until it is detached', async () => {
    const policies = fc.constantFrom('wait' as const, 'fail' as const)
    const releases = fc.constantFrom('detached' as const, 'instanceGone' as const)
    const steps = fc.array(step, { minLength: 5, maxLength: 40, size: 'max' })
    const numRuns = runs(10)
    const reached = { attached: 0, detached: 0 }
    await fc.assert(
      fc.asyncProperty(
        policies,
        releases,
        fc.nat(START.length),
        steps,
        async (onExhausted, releaseWhen, before, all) => {
          const life = new Life(onExhausted, releaseWhen)
          for (const each of START.slice(0, before)) await life.act(each)
          for (const each of all) await life.act(each)
          await life.end()
          const { calls } = life.world.cloud
          if (calls.includes('attachFloatingIP')) reached.attached++
          if (calls.includes('detachFloatingIP')) reached.detached++
        },
      ),
      { numRuns },
    )
    expect(reached.attached).toBeGreaterThan(numRuns / 10)
    expect(reached.detached).toBeGreaterThan(numRuns / 100)
  })
})
