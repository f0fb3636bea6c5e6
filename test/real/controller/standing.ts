import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { paced } from '../pace.js'
import type { Depth } from '../report.js'
import { waitFor } from '../servers/tools.js'
import { Client, eachOf } from './client.js'
import { type Ground, startGround } from './ground.js'
import { ControllerProcess } from './process.js'

/** How often the leader is stopped, and continued when another one leads. */
const ROUNDS: { readonly [D in Depth]: number } = { full: 30, short: 2 }
/**
 * How long after another one leads the former leader goes on, in milliseconds: one of these in each
 * round.
 */
const LATER_MS = [0, 30, 60, 100, 150, 200, 300, 400]
const CLAIMS_OF_A_ROUND = 80
/** The leader is stopped when it has given so many, and one more in each round. */
const FIRST_STOP = 5

const GROUP = '/apis/ipam.cluster.x-k8s.io'
const NAMESPACE = 'standing'
const CLAIMS = `${GROUP}/v1beta2/namespaces/${NAMESPACE}/ipaddressclaims`
const ADDRESSES = `${GROUP}/v1beta2/ipaddresses`
const POOLS = `${GROUP}/v1alpha2/namespaces/${NAMESPACE}/inclusterippools`
const AT_ONCE = 8
const PATIENCE_SECONDS = 120
const LEASE = { 'lease-duration': paced(6), 'renew-deadline': paced(3), 'retry-period': paced(1) }
const ELECTION = ['--leader-elect', ...Object.entries(LEASE).flatMap(([name, value]) => [`--${name}`, `${value}`])]

/**
 * A leader is stopped past its lease and goes on while another one leads: no two claims are ever
 * Bound to one address, and in the end each has its own.
 */
export async function standsStill(program: string, depth: Depth): Promise<string> {
  const ground = await startGround('generated', { bare: true })
  const rounds = new Rounds(ground, program)
  try {
    await rounds.begin()
    for (let round = 0; round < ROUNDS[depth]; round++) await rounds.run(round)
    return await rounds.end()
  } finally {
    await rounds.close()
    await ground.server.stop()
  }
}

interface Told {
  readonly version: number
  readonly type: string
  readonly object: KubeObject
}

class Rounds {
  readonly #ground: Ground
  readonly #program: string
  readonly #client: Client
  #controllers: ControllerProcess[] = []
  /**
   * All that became of claims and addresses since the round began: both have versions of one
   * database.
   */
  #told: Told[] = []
  readonly #left = new Set<string>()
  #endWatches: (() => void)[] = []
  /** Watches that could not continue: what they would have told is missing. */
  readonly #endedWatches: string[] = []
  #rounds = 0
  #duplicates = 0
  #withheld = 0

  constructor(ground: Ground, program: string) {
    this.#ground = ground
    this.#program = program
    this.#client = new Client(ground.server, AT_ONCE)
  }

  async begin(): Promise<void> {
    await this.#client.send('POST', '/api/v1/namespaces', { body: { metadata: { name: NAMESPACE } } })
    const apiVersion = 'ipam.cluster.x-k8s.io/v1alpha2'
    const spec = { addresses: ['10.0.0.0/23'], prefix: 16 }
    const body = { apiVersion, kind: 'InClusterIPPool', metadata: { name: 'pool' }, spec }
    await this.#client.send('POST', POOLS, { body })
    for (const path of [CLAIMS, ADDRESSES]) {
      this.#endWatches.push(
        await this.#client.watch(
          path,
          (type, object) => {
            const key = `${object.kind} ${object.metadata.name}`
            if (type === 'DELETED') this.#left.delete(key)
            else this.#left.add(key)
            this.#told.push({ version: Number(object.metadata.resourceVersion), type, object })
          },
          () => {
            this.#endedWatches.push(path)
          },
        ),
      )
    }
    this.#start()
    await this.#controllers[0]!.untilItLeads()
    this.#start()
  }

  async run(round: number): Promise<void> {
    this.#told = []
    const names = Array.from({ length: CLAIMS_OF_A_ROUND }, (_, index) => `r${round}-${index}`)
    const leader = await this.#leader()
    const making = eachOf(names, AT_ONCE, (name) => this.#make(name))
    const given = () => this.#told.filter(({ type, object }) => type === 'ADDED' && object.kind === 'IPAddress').length
    await this.#until(() => given() >= FIRST_STOP + round || undefined, 'no address is given')
    process.kill(leader.pid, 'SIGSTOP')
    await making
    await this.#until(() => this.#others(leader).some(({ leads }) => leads) || undefined, 'no other one leads')
    await sleep(LATER_MS[round % LATER_MS.length]!)
    process.kill(leader.pid, 'SIGCONT')
    assert.equal(await leader.ended(PATIENCE_SECONDS), 1, leader.lines.join('\n'))
    assert.ok(leader.lines.includes('lost'), leader.lines.join('\n'))
    this.#withheld += leader.lines.filter((line) => line.includes('was not sent')).length
    let problems: readonly string[] = []
    await this.#until(
      async () => {
        problems = await this.#problems(names.length)
        return problems.length === 0 || undefined
      },
      () => problems.slice(0, 10).join('\n'),
    )
    await eachOf(names, AT_ONCE, (name) => this.#client.send('DELETE', `${CLAIMS}/${name}`))
    await this.#until(
      () => this.#left.size === 0 || undefined,
      () => `left: ${[...this.#left].slice(0, 10).join(', ')}`,
    )
    this.#replay(round)
    this.#rounds++
  }

  async end(): Promise<string> {
    const codes = await Promise.all(this.#controllers.map((each) => each.stop()))
    assert.deepEqual(new Set(codes), new Set([0]))
    return `${this.#rounds} rounds: ${this.#withheld} writes withheld, ${this.#duplicates} late addresses repaired, no claim Bound to the address of another`
  }

  async close(): Promise<void> {
    for (const end of this.#endWatches) end()
    this.#client.close()
    await Promise.all(this.#controllers.map((each) => each.stop('SIGKILL')))
  }

  /** Goes through all that was told in the order in which it was stored. */
  #replay(round: number): void {
    const addresses = new Map<string, string>()
    const bound = new Set<string>()
    const shared = new Set<string>()
    for (const { type, object } of this.#told.sort((left, right) => left.version - right.version)) {
      const { name } = object.metadata
      if (object.kind === 'IPAddress') {
        if (type === 'DELETED') addresses.delete(name)
        else addresses.set(name, (object as IPAddress).spec.address)
      } else {
        const isBound = type !== 'DELETED' && (object as IPAddressClaim).status?.addressRef?.name !== undefined
        if (isBound) bound.add(name)
        else bound.delete(name)
      }
      const own = addresses.get(name)
      if (own === undefined) continue
      const others = [...addresses].filter(([other, text]) => other !== name && text === own).map(([other]) => other)
      if (others.length > 0) shared.add(own)
      const twice = bound.has(name) ? others.filter((other) => bound.has(other)) : []
      assert.deepEqual(twice, [], `round ${round}: ${own} is that of ${name} as well, and both are Bound`)
    }
    this.#duplicates += shared.size
  }

  async #problems(count: number): Promise<readonly string[]> {
    const claims = (await this.#client.list(CLAIMS)) as readonly IPAddressClaim[]
    const addresses = (await this.#client.list(ADDRESSES)) as readonly IPAddress[]
    const waiting = claims.filter(({ status }) => status?.addressRef === undefined)
    const unsure = claims.filter(({ status }) =>
      status?.conditions?.some(({ type, status: state }) => type === 'AddressUnique' && state === 'False'),
    )
    const different = new Set(addresses.map(({ spec }) => spec.address)).size
    return [
      ...(claims.length === count ? [] : [`${claims.length} claims instead of ${count}`]),
      ...waiting.map(({ metadata }) => `${metadata.name} is not Bound`),
      ...unsure.map(({ metadata }) => `${metadata.name} says that its address is not its own`),
      ...(addresses.length === count ? [] : [`${addresses.length} addresses`]),
      ...(different === addresses.length ? [] : [`${different} different ones of ${addresses.length}`]),
    ]
  }

  /** The one that leads, with another one that waits. */
  async #leader(): Promise<ControllerProcess> {
    await this.#until(
      () => (this.#controllers.length > 1 && this.#controllers.some(({ leads }) => leads)) || undefined,
      'no controller leads',
    )
    return this.#controllers.find(({ leads }) => leads)!
  }

  #others(leader: ControllerProcess): readonly ControllerProcess[] {
    return this.#controllers.filter((each) => each !== leader)
  }

  /** As a kubelet does, it starts again what has ended by itself. */
  #start(): void {
    const controller = new ControllerProcess(this.#program, this.#ground.kubeconfig, ELECTION)
    this.#controllers.push(controller)
    controller.whenItEndsItself(() => {
      this.#controllers = this.#others(controller) as ControllerProcess[]
      this.#start()
    })
  }

  async #make(name: string): Promise<void> {
    const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'pool' }
    const body = {
      apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
      kind: 'IPAddressClaim',
      metadata: { name },
      spec: { poolRef },
    }
    await this.#client.send('POST', CLAIMS, { body })
  }

  async #until(attempt: () => Promise<true | undefined> | true | undefined, otherwise: string | (() => string)) {
    const explain = () => {
      const said = this.#controllers.map((each) => each.lines.slice(-20).join('\n')).join('\n---\n')
      const ended = this.#endedWatches.map((path) => `the watch of ${path} has ended\n`).join('')
      return `round ${this.#rounds}: ${typeof otherwise === 'string' ? otherwise : otherwise()}\n${ended}${said}`
    }
    await waitFor(attempt, { seconds: PATIENCE_SECONDS, else: 'it does not come to this', explain })
  }
}
