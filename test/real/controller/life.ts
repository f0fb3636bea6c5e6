import assert from 'node:assert/strict'
import { IPAddress, type IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { paced } from '../pace.js'
import type { Report } from '../report.js'
import { waitFor } from '../servers/tools.js'
import { Client, eachOf } from './client.js'
import { type Definitions, type Ground, startGround } from './ground.js'
import { Ledger } from './ledger.js'
import { ControllerProcess } from './process.js'

const GROUP = '/apis/ipam.cluster.x-k8s.io'
const NAMESPACE = 'life'
const CLAIMS = `${GROUP}/v1beta2/namespaces/${NAMESPACE}/ipaddressclaims`
const ADDRESSES = `${GROUP}/v1beta2/ipaddresses`
const OWNERS = `/api/v1/namespaces/${NAMESPACE}/configmaps`
const PATIENCE_SECONDS = 120
const AT_ONCE = 8

const CLAIMS_OF_AN_OWNER = 10
/** The lease of Kubernetes' own components, longer where requests take longer. */
const LEASE = { 'lease-duration': paced(15), 'renew-deadline': paced(10), 'retry-period': paced(2) }
const ELECTION = ['--leader-elect', ...Object.entries(LEASE).flatMap(([name, value]) => [`--${name}`, `${value}`])]
/** A controller that ends more often by itself has a fault. */
const MAX_RESTARTS = 10

/**
 * What says whose an address is: IPAddress objects, with one process that leads and one that waits,
 * or blocks, with three that all serve.
 */
export type LedgerKind = 'objects' | 'blocks'
const PROCESSES = { objects: 2, blocks: 3 } as const
const BLOCKS = '/apis/ipam-kit.dev/v1alpha1/ipblocks'
/**
 * A row whose claim is gone is seen twice before it goes, and then its block is empty for a while.
 */
const SWEEP_SECONDS = 300

interface Pool {
  readonly kind: string
  readonly plural: string
  readonly name: string
  readonly namespaced: boolean
  readonly spec: object
  /** How many it can give. */
  readonly size: number
}

/** A pool of three fifths of the addresses that its claims want. */
function scarcePool(claims: number): Pool {
  const size = (claims * 3) / 5
  return {
    kind: 'InClusterIPPool',
    plural: 'inclusterippools',
    name: 'scarce',
    namespaced: true,
    spec: { addresses: [`10.0.4.10-10.0.4.${9 + size}`], prefix: 24, gateway: '10.0.4.1' },
    size,
  }
}
/** How many it has when it is enlarged. */
const ENLARGED = 241
const amplePools: readonly Pool[] = [
  {
    kind: 'InClusterIPPool',
    plural: 'inclusterippools',
    name: 'lists',
    namespaced: true,
    spec: { addresses: ['10.0.0.0/25', '10.0.0.200', '10.0.0.210-10.0.0.220'], prefix: 24, gateway: '10.0.0.1' },
    // of the subnet the first address, and the gateway, are not given
    size: 128 - 2 + 1 + 11,
  },
  {
    kind: 'GlobalInClusterIPPool',
    plural: 'globalinclusterippools',
    name: 'everywhere',
    namespaced: false,
    spec: { addresses: ['fd00::100-fd00::1ff'], excludedAddresses: ['fd00::110-fd00::11f'], prefix: 64 },
    size: 240,
  },
  {
    kind: 'InClusterPrefixPool',
    plural: 'inclusterprefixpools',
    name: 'prefixes',
    namespaced: true,
    spec: { prefixes: ['fd01::/57'], allocationPrefixLength: 64 },
    size: 128,
  },
  {
    kind: 'InClusterIPPool',
    plural: 'inclusterippools',
    name: 'range',
    namespaced: true,
    spec: { addresses: ['10.0.3.10-10.0.3.250'], prefix: 24 },
    size: 241,
  },
]

function poolPath({ plural, name, namespaced }: Pool): string {
  return `${GROUP}/v1alpha2${namespaced ? `/namespaces/${NAMESPACE}` : ''}/${plural}${name === '' ? '' : `/${name}`}`
}

export interface Lives {
  readonly definitions: Definitions
  readonly ledger: LedgerKind
  /** An even number. */
  readonly kills: number
  /** A multiple of 10. */
  readonly claimsOfAPool: number
  /** Blocks: after how many seconds a row without a claim goes, and an empty block. */
  readonly sweepSeconds: number
}

/**
 * Claims over five pools, from the first to the last of them, while the controller is killed
 * over and over.
 */
export async function lives(report: Report, program: string, { definitions, ...rest }: Lives): Promise<void> {
  const ground = await startGround(definitions)
  const { ledger } = rest
  const life = new Life({ ground, program, ...rest })
  const about = (what: string) =>
    `${ledger === 'blocks' ? 'blocks, three at once' : `${definitions} definitions`}: ${what}`
  const killed = ledger === 'blocks' ? 'one of them' : 'the leader'
  try {
    await life.begin()
    await report.test(about(`claims bind while ${killed} is killed, and what has no room waits`), () => life.bind())
    await report.test(about('a pool that is enlarged serves those that wait'), () => life.enlarge())
    await report.test(about('claims that are deleted give their addresses back'), () => life.release())
    await report.test(about(`claims whose owners are collected go too, while ${killed} is killed`), () =>
      life.collect(),
    )
    await report.test(about('nothing is left'), () => life.end())
  } finally {
    await life.close()
    await ground.server.stop()
  }
}

interface LifeOptions extends Omit<Lives, 'definitions'> {
  readonly ground: Ground
  readonly program: string
}

class Life {
  readonly #ground: Ground
  readonly #program: string
  readonly #client: Client
  readonly #kind: LedgerKind
  readonly #claimsOfAPool: number
  readonly #sweepSeconds: number
  readonly #scarce: Pool
  readonly #pools: readonly Pool[]
  readonly #ledger = new Ledger()
  #controllers: ControllerProcess[] = []
  readonly #waves: number
  /** What those said last that ended by themselves. */
  readonly #lastWords: string[] = []
  #endWatch = () => {}
  #claims = 0
  #kills = 0
  /** How often the one that waited was the next to lead. */
  #heirs = 0
  /** Why controllers are not started any more. */
  #fault: string | undefined

  constructor({ ground, program, ledger, kills, claimsOfAPool, sweepSeconds }: LifeOptions) {
    this.#kind = ledger
    this.#claimsOfAPool = claimsOfAPool
    this.#sweepSeconds = sweepSeconds
    this.#scarce = scarcePool(claimsOfAPool)
    this.#pools = [...amplePools, this.#scarce]
    this.#waves = kills / 2
    this.#ground = ground
    this.#program = program
    this.#client = new Client(ground.server, AT_ONCE)
  }

  /** How many claims of the scarce pool have to wait. */
  get #waiting(): number {
    return this.#claimsOfAPool - this.#scarce.size
  }

  async begin(): Promise<void> {
    await this.#client.send('POST', '/api/v1/namespaces', { body: { metadata: { name: NAMESPACE } } })
    for (const { kind, name, spec, ...pool } of this.#pools) {
      const body = { apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2', kind, metadata: { name }, spec }
      await this.#client.send('POST', poolPath({ kind, spec, ...pool, name: '' }), { body })
    }
    this.#endWatch = await this.#client.watch(ADDRESSES, (type, object) => this.#ledger.note(type, object))
    this.#start()
    await this.#controllers[0]!.untilItLeads()
    while (this.#controllers.length < PROCESSES[this.#kind]) this.#start()
  }

  /** Claims come in waves, and the leader is killed in the midst of each. */
  async bind(): Promise<string> {
    const waves = this.#waves
    for (let wave = 0; wave < waves; wave++) {
      const from = (this.#claimsOfAPool / waves) * wave
      const numbers = Array.from({ length: this.#claimsOfAPool / waves }, (_, index) => from + index)
      const before = this.#ledger.size
      const making = this.#make(numbers)
      await this.#until(() => this.#ledger.size > before + 20 || undefined, 'addresses come')
      await this.#killLeader()
      await making
    }
    const room = this.#pools.map(({ size }) => Math.min(size, this.#claimsOfAPool))
    await this.#rests(room, this.#waiting)
    return `${this.#claims} claims over ${this.#pools.length} pools, ${this.#kills} kills; ${this.#waiting} wait for room`
  }

  async enlarge(): Promise<string> {
    const body = { spec: { addresses: ['10.0.4.10-10.0.4.250'] } }
    await this.#client.send('PATCH', poolPath(this.#scarce), { body, patch: 'merge' })
    await this.#rests(
      this.#pools.map(() => this.#claimsOfAPool),
      0,
      ENLARGED,
    )
    return `${this.#waiting} more are bound`
  }

  /** The first half of the claims of each pool, by hand. */
  async release(): Promise<string> {
    const names = this.#pools.flatMap(({ name }) =>
      Array.from({ length: this.#claimsOfAPool / 2 }, (_, index) => nameOf(name, index)),
    )
    await eachOf(names, AT_ONCE, (name) => this.#client.send('DELETE', `${CLAIMS}/${name}`))
    this.#claims -= names.length
    await this.#rests(
      this.#pools.map(() => this.#claimsOfAPool / 2),
      0,
      ENLARGED,
    )
    return `${names.length} deleted`
  }

  /** The rest goes because its owners go. */
  async collect(): Promise<string> {
    const owners = await this.#client.list(`${OWNERS}?labelSelector=owner`)
    const share = Math.ceil(owners.length / this.#waves)
    for (let at = 0; at < owners.length; at += share) {
      const before = this.#ledger.size
      const going = owners.slice(at, at + share)
      await eachOf(going, AT_ONCE, ({ metadata }) => this.#client.send('DELETE', `${OWNERS}/${metadata.name}`))
      await this.#until(() => this.#ledger.size < before || undefined, 'addresses go')
      await this.#killLeader()
    }
    this.#claims = 0
    await this.#rests(
      this.#pools.map(() => 0),
      0,
      ENLARGED,
    )
    if (this.#kind === 'objects') assert.ok(this.#heirs > 0, 'a controller that waits for the lease never gets it')
    const heirs = this.#kind === 'objects' ? `, and ${this.#heirs} times who had waited went on` : ''
    return `${owners.length} owners; ${this.#kills} kills by now${heirs}`
  }

  async end(): Promise<string> {
    await eachOf(this.#pools, AT_ONCE, (pool) => this.#client.send('DELETE', poolPath(pool)))
    await this.#until(async () => {
      const left = await Promise.all(this.#pools.map((pool) => this.#client.list(poolPath({ ...pool, name: '' }))))
      return left.flat().length === 0 || undefined
    }, 'pools are left')
    if (this.#kind === 'blocks') await this.#untilNoBlockIsLeft()
    const codes = await Promise.all(this.#controllers.map((each) => each.stop()))
    assert.deepEqual(new Set(codes), new Set([0]))
    if (this.#kind === 'objects') await this.#checkLease()
    const { given, twice } = this.#ledger
    assert.deepEqual(twice, [])
    const restarts = this.#lastWords.length === 0 ? '' : `; restarted ${this.#lastWords.length} times`
    return `${given} addresses were given, none of them twice at a time${restarts}`
  }

  async #untilNoBlockIsLeft(): Promise<void> {
    await waitFor(async () => (await this.#client.list(BLOCKS)).length === 0 || undefined, {
      seconds: SWEEP_SECONDS,
      else: 'blocks are left',
    })
  }

  async #checkLease(): Promise<void> {
    const { spec } = await this.#client.send<{ spec: { holderIdentity?: string } }>(
      'GET',
      '/apis/coordination.k8s.io/v1/namespaces/ipam-system/leases/ipam-kit-in-cluster',
    )
    assert.equal(spec.holderIdentity ?? '', '')
  }

  async close(): Promise<void> {
    this.#endWatch()
    this.#client.close()
    await Promise.all(this.#controllers.map((each) => each.stop('SIGKILL')))
  }

  #start(): void {
    const seconds = `${this.#sweepSeconds}`
    const onBlocks = ['--ledger', 'blocks', '--sweep-after', seconds, '--empty-after', seconds]
    const args = this.#kind === 'blocks' ? onBlocks : ELECTION
    const controller = new ControllerProcess(this.#program, this.#ground.kubeconfig, args)
    this.#controllers.push(controller)
    controller.whenItEndsItself((code) => this.#restart(controller, code))
  }

  /**
   * As a kubelet does: a leader that could not renew its lease in time ends, and is started again.
   */
  #restart(controller: ControllerProcess, code: number | null): void {
    this.#controllers = this.#controllers.filter((each) => each !== controller)
    this.#lastWords.push(`ended with ${code}: ${controller.lines.slice(-5).join('\n')}`)
    const mayStart = code === 1 && !hasStack(controller) && this.#lastWords.length <= MAX_RESTARTS
    if (mayStart) this.#start()
    else this.#fault ??= this.#lastWords.join('\n---\n')
  }

  /**
   * With what it has under way. One of the others goes on: mostly the one that waits, but one that
   * has just come can be faster.
   */
  async #killLeader(): Promise<void> {
    await this.#until(() => this.#controllers.some(({ leads }) => leads) || undefined, 'no controller leads')
    const leader = this.#controllers.find((each) => each.leads)!
    const successor = this.#controllers.find((each) => each !== leader)
    await leader.stop('SIGKILL')
    this.#kills++
    assert(!hasStack(leader), leader.lines.join('\n'))
    this.#controllers = this.#controllers.filter((each) => each !== leader)
    // every other time the one that waits has nothing to compete with
    if (this.#kills % 2 === 0) this.#start()
    await this.#until(() => this.#controllers.some(({ leads }) => leads) || undefined, 'no controller leads')
    if (successor?.leads === true) this.#heirs++
    if (this.#kills % 2 === 1) this.#start()
  }

  /** A claim of each of these numbers, of each pool. */
  async #make(numbers: readonly number[]): Promise<void> {
    const wanted = numbers.flatMap((number) => this.#pools.map((pool) => ({ pool, number })))
    const owners = new Map<string, Promise<KubeObject>>()
    await eachOf(wanted, AT_ONCE, async ({ pool, number }) => {
      const ownerName = `owner-${pool.name}-${Math.floor(number / CLAIMS_OF_AN_OWNER)}`
      const owner = owners.get(ownerName) ?? this.#owner(ownerName)
      owners.set(ownerName, owner)
      const { uid } = (await owner).metadata
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: ownerName, uid }]
      const metadata = { name: nameOf(pool.name, number), ownerReferences }
      const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: pool.kind, name: pool.name }
      const body = { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddressClaim', metadata, spec: { poolRef } }
      await this.#client.send('POST', CLAIMS, { body })
      this.#claims++
    })
  }

  async #owner(name: string): Promise<KubeObject> {
    const body = { metadata: { name, labels: { owner: '' } } }
    await this.#client.send('POST', OWNERS, { body, also: [409] })
    return this.#client.send('GET', `${OWNERS}/${name}`)
  }

  /**
   * Waits until so many addresses of each pool are given and everything says so, to the last digit:
   * claims, addresses and the counts of the pools.
   */
  async #rests(given: readonly number[], waiting: number, scarceSize = this.#scarce.size): Promise<void> {
    let problems: readonly string[] = []
    await this.#until(
      async () => {
        problems = await this.#problems(given, waiting, scarceSize)
        return problems.length === 0 || undefined
      },
      () => problems.slice(0, 10).join('\n'),
    )
    assert.deepEqual(this.#ledger.twice, [])
  }

  async #problems(given: readonly number[], waiting: number, scarceSize: number): Promise<readonly string[]> {
    const claims = (await this.#client.list(CLAIMS)) as readonly IPAddressClaim[]
    const addresses = (await this.#client.list(ADDRESSES)).map((object) => IPAddress.parse(object))
    const states = await Promise.all(this.#pools.map((pool) => this.#client.send<PoolState>('GET', poolPath(pool))))
    const problems: string[] = []
    const expect = (what: string, actual: unknown, wanted: unknown) => {
      if (actual !== wanted) problems.push(`${what}: ${actual} instead of ${wanted}`)
    }
    const bound = claims.filter(({ status }) => status?.addressRef !== undefined)
    const reasons = claims.map(({ status }) => status?.conditions?.find(({ type }) => type === 'Ready')?.reason)
    expect('claims', claims.length, this.#claims)
    expect('bound claims', bound.length, this.#claims - waiting)
    expect('claims that wait for room', reasons.filter((reason) => reason === 'PoolExhausted').length, waiting)
    expect('claims that say so', reasons.filter((reason) => reason === 'AddressAllocated').length, bound.length)
    expect('addresses', addresses.length, bound.length)
    const names = new Set(addresses.map(({ metadata }) => metadata.name))
    for (const { metadata, status } of bound) {
      if (!names.has(status!.addressRef!.name)) problems.push(`${metadata.name} has no address`)
    }
    const texts = addresses.map(({ spec }) => `${spec.poolRef.kind}/${spec.poolRef.name} ${spec.address}`)
    expect('different addresses', new Set(texts).size, texts.length)
    for (const [index, { name, size }] of this.#pools.entries()) {
      const total = name === this.#scarce.name ? scarceSize : size
      const used = given[index]!
      expect(`addresses of ${name}`, addresses.filter(({ spec }) => spec.poolRef.name === name).length, used)
      const counts = JSON.stringify(sorted(states[index]!.status?.ipAddresses))
      expect(`counts of ${name}`, counts, JSON.stringify(sorted({ total, used, free: total - used, outOfRange: 0 })))
    }
    return problems
  }

  async #until(attempt: () => Promise<true | undefined> | true | undefined, otherwise: string | (() => string)) {
    const explain = () => {
      const said = this.#controllers.map((each) => each.lines.slice(-20).join('\n')).join('\n---\n')
      return `${typeof otherwise === 'string' ? otherwise : otherwise()}\n${said}`
    }
    const giveUp = () => {
      if (this.#fault !== undefined) throw new Error(`a controller ended by itself\n${this.#fault}`)
    }
    await waitFor(attempt, { seconds: PATIENCE_SECONDS, else: 'it does not come to this', explain, giveUp })
  }
}

function hasStack({ lines }: ControllerProcess): boolean {
  return lines.some((line) => /\bat .*:\d+:\d+/.test(line))
}

interface PoolState {
  readonly status?: { readonly ipAddresses?: { readonly [count: string]: number } }
}

function sorted(counts: { readonly [count: string]: number } | undefined): readonly [string, number][] {
  return Object.entries(counts ?? {}).sort(([left], [right]) => (left < right ? -1 : 1))
}

function nameOf(pool: string, number: number): string {
  return `${pool}-${number}`
}
