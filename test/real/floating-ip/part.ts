import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { IPAddress, type IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { MIN_FREE_ANNOTATION, type OpenStackServer } from 'ipam-kit/crd/openstack'
import { Dice } from 'ipam-kit/testing'
import { bundle } from '../bundle.js'
import { Client, eachOf } from '../controller/client.js'
import { Ledger } from '../controller/ledger.js'
import { paced } from '../pace.js'
import type { Depth, Part } from '../report.js'
import { installClients } from '../servers/install.js'
import { waitFor } from '../servers/tools.js'
import { FaultyCloud } from './cloud.js'
import { Controllers } from './controllers.js'
import { type Ground, MAIN, startGround } from './ground.js'
import { conditionOf, Machines, SERVER_FINALIZER } from './machines.js'

interface Size {
  readonly servers: number
  /**
   * Controllers are killed in the midst of each, while machines are made and while they are
   * deleted.
   */
  readonly waves: number
  /** Which part of a wave is served when they are killed. */
  readonly killAt: number
  /**
   * Machines are deleted when this part of them has floating IPs: others have not got theirs by
   * then.
   */
  readonly ready: number
  /** Whether the pools are deleted with their machines, and not after them. */
  readonly endsAtOnce: boolean
  readonly seconds: number
}

const SIZES: { readonly [D in Depth]: Size } = {
  full: { servers: 500, waves: 5, killAt: 0.3, ready: 1, endsAtOnce: false, seconds: 240 },
  short: { servers: 60, waves: 1, killAt: 0.8, ready: 0.75, endsAtOnce: true, seconds: 150 },
}
/** The share of the calls to the cloud that go wrong. */
const FAULTY = 0.05
/**
 * The share of the machines that have to be served before the cloud recovers. The wait after
 * failures in a row doubles: after the recovery it is not longer than the cloud was faulty. Without
 * a recovery, a few of the machines would wait for minutes by chance.
 */
const RECOVERS_AT = 0.9
const FLAGS = ['--call-seconds', '5', '--list-seconds', '30']
const AT_ONCE = 8
const MIN_FREE = 4
const PREALLOCATED = 3

const NAMESPACE = 'floating'
const INFRA = `/apis/infrastructure.cluster.x-k8s.io/v1alpha1/namespaces/${NAMESPACE}`
const IPAM = `/apis/ipam.cluster.x-k8s.io/v1beta2/namespaces/${NAMESPACE}`
const [SERVERS, POOLS] = [`${INFRA}/openstackservers`, `${INFRA}/openstackfloatingippools`]
const [CLAIMS, ADDRESSES] = [`${IPAM}/ipaddressclaims`, `${IPAM}/ipaddresses`]

/**
 * The example controller of floating IPs, with no more rights than its manifest gives it, on a
 * cloud that fails.
 */
export const floatingIP: Part = {
  name: 'floating-ip',
  about: 'machines get floating IPs and give them back while controllers are killed and the cloud fails',
  async run(report, depth) {
    await installClients()
    const program = await bundle(MAIN, 'floating-ip')
    const ground = await startGround()
    const life = new Life(ground, program, depth)
    const { servers } = SIZES[depth]
    try {
      await life.begin()
      await report.test(`${servers} machines get floating IPs while controllers are killed`, () => life.make())
      await report.test('cloud, addresses, claims and servers agree', () => life.check())
      await report.test('machines are deleted while controllers are killed', () => life.delete())
      await report.test('nothing is left when the pools are deleted', () => life.end())
    } finally {
      await life.close()
      await ground.server.stop()
    }
  },
}

class Life {
  readonly #size: Size
  readonly #client: Client
  readonly #dice = new Dice(24)
  readonly #cloud = new FaultyCloud(24, FAULTY)
  readonly #machines: Machines
  readonly #controllers: Controllers
  readonly #ledger = new Ledger()
  readonly #names: readonly string[]
  #preallocated: readonly string[] = []
  #endWatch = () => {}

  constructor({ server, kubeconfig }: Ground, program: string, depth: Depth) {
    this.#size = SIZES[depth]
    this.#client = new Client(server, AT_ONCE)
    this.#machines = new Machines(this.#client, this.#cloud, SERVERS)
    this.#controllers = new Controllers(program, kubeconfig, FLAGS)
    this.#names = Array.from({ length: this.#size.servers }, (_, nth) => `machine-${nth}`)
  }

  async begin(): Promise<void> {
    await this.#cloud.start()
    this.#preallocated = this.#cloud.byHand(PREALLOCATED)
    await this.#create('/api/v1/namespaces', { metadata: { name: NAMESPACE } })
    const data = { 'clouds.yaml': Buffer.from(this.#cloud.cloudsYaml).toString('base64') }
    await this.#create(`/api/v1/namespaces/${NAMESPACE}/secrets`, { metadata: { name: 'clouds' }, data })
    const half = this.#size.servers / 2
    await this.#createPool('deletes', { reclaimPolicy: 'Delete' })
    await this.#createPool('retains', {
      ...{ reclaimPolicy: 'Retain', preAllocatedFloatingIPs: this.#preallocated, maxIPs: half },
    })
    this.#endWatch = await this.#client.watch(ADDRESSES, (type, object) => this.#ledger.note(type, object))
    await this.#machines.start()
    this.#controllers.start()
  }

  async make(): Promise<string> {
    const { waves, killAt, ready } = this.#size
    await this.#until(() => this.#controllers.leads || undefined, 'no controller leads')
    for (const names of inParts(this.#names, waves)) {
      const making = eachOf(names, AT_ONCE, (name) => this.#createServer(name))
      await this.#killWhen(() => this.#ledger.given > this.#at(names, killAt))
      await making
    }
    const { length } = this.#names
    await this.#until(
      () => {
        const { length: served } = this.#machines.ready
        if (served >= length * ready * RECOVERS_AT) this.#cloud.share = 0
        return served >= length * ready || undefined
      },
      () => this.#waiting(),
    )
    return this.#figures()
  }

  /** The addresses of claims are those that the instances have, and no others are in use. */
  async check(): Promise<string> {
    const { ready } = this.#machines
    const addresses = await this.#addresses()
    const claims = (await this.#client.list(CLAIMS)) as readonly IPAddressClaim[]
    assert.equal(claims.length, this.#names.length)
    for (const server of ready) {
      const claim = claims.find(({ metadata }) => metadata.ownerReferences?.[0]?.uid === server.metadata.uid)
      const address = addresses.find(({ metadata }) => metadata.name === claim?.status?.addressRef?.name)
      const attached = this.#cloud.floatingIPsOf(this.#machines.instanceOf(server))
      assert.deepEqual(attached, [address?.spec.address], server.metadata.name)
    }
    const { floatingIPs } = this.#cloud.fake
    assert.equal(new Set(floatingIPs.map(({ address }) => address)).size, floatingIPs.length)
    const ofPool = floatingIPs.filter(({ tags }) => tags.some((tag) => tag.endsWith('-retains')))
    assert.ok(ofPool.length <= this.#size.servers / 2, `${ofPool.length} of pool retains`)
    assert.deepEqual(this.#ledger.twice, [])
    return `${floatingIPs.length} floating IPs, ${floatingIPs.filter(({ port }) => port !== '').length} attached`
  }

  async delete(): Promise<string> {
    const { waves, endsAtOnce } = this.#size
    this.#cloud.share = FAULTY
    if (endsAtOnce) await this.#deletePools()
    for (const names of inParts(this.#names, waves)) {
      const before = this.#ledger.size
      const deleting = eachOf(names, AT_ONCE, (name) => this.#client.send('DELETE', `${SERVERS}/${name}`))
      await this.#killWhen(() => this.#ledger.size < before - names.length * 0.3)
      await deleting
    }
    let left: readonly KubeObject[] = []
    await this.#until(
      async () => {
        left = [...(await this.#client.list(CLAIMS)), ...(await this.#client.list(ADDRESSES))]
        if (this.#machines.servers.length <= this.#names.length * (1 - RECOVERS_AT)) this.#cloud.share = 0
        return this.#machines.servers.length + left.length === 0 || undefined
      },
      () => [this.#waiting(), ...left.slice(0, 10).map((object) => JSON.stringify(object))].join('\n'),
    )
    return this.#figures()
  }

  async end(): Promise<string> {
    const { fake } = this.#cloud
    if (!this.#size.endsAtOnce) {
      this.#cloud.share = FAULTY
      await this.#deletePools()
      await sleep(paced(10_000))
      this.#cloud.share = 0
    }
    let pools: readonly KubeObject[] = []
    await this.#until(
      async () => {
        pools = await this.#client.list(POOLS)
        return pools.length === 0 || undefined
      },
      () => pools.map((object) => JSON.stringify(object)).join('\n'),
    )
    await this.#controllers.end()
    const left = fake.floatingIPs
    // what was created for the pool that retains stays, and says nothing of it any more
    const kept = left.filter(({ address }) => !this.#preallocated.includes(address))
    assert.deepEqual(
      this.#preallocated.filter((address) => !left.some((each) => each.address === address)),
      [],
    )
    for (const { description, tags, port } of kept) {
      assert.ok(tags.some((tag) => tag.endsWith('-retains')) || description.includes('retains'), description)
      assert.ok(!/[0-9a-f-]{36}/.test(description), description)
      assert.equal(port, '')
    }
    const { length: created } = fake.created.filter(({ by }) => by === 'call')
    assert.equal(created - fake.deleted.length, kept.length)
    assert.ok(kept.length <= this.#size.servers / 2, `${kept.length} retained`)
    assert.deepEqual(fake.foreignDeletions, [])
    assert.deepEqual(this.#ledger.twice, [])
    assert.deepEqual(this.#machines.problems, [])
    return `${created} created, ${fake.deleted.length} deleted, ${kept.length} retained; ${this.#figures()}`
  }

  async close(): Promise<void> {
    this.#endWatch()
    this.#machines.stop()
    this.#client.close()
    await this.#controllers.close()
    this.#cloud.stop()
  }

  /** When this is so, and after a while that chance decides. */
  async #killWhen(isSo: () => boolean): Promise<void> {
    await this.#until(() => isSo() || undefined, 'nothing happens')
    await sleep(this.#dice.below(500))
    const { kills, suspensions } = this.#controllers
    if (suspensions < kills) await this.#controllers.suspend()
    else await this.#controllers.kill(this.#dice)
  }

  /** How many addresses have been given when a part of these is served. */
  #at(names: readonly string[], share: number): number {
    return this.#names.indexOf(names[0]!) * 0.9 + names.length * share
  }

  async #addresses(): Promise<readonly IPAddress[]> {
    return (await this.#client.list(ADDRESSES)).map((object) => IPAddress.parse(object))
  }

  #create(path: string, body: object): Promise<unknown> {
    return this.#client.send('POST', path, { body })
  }

  #createPool(name: string, spec: object): Promise<unknown> {
    const annotations = { [MIN_FREE_ANNOTATION]: `${MIN_FREE}` }
    return this.#create(POOLS, {
      ...{ apiVersion: 'infrastructure.cluster.x-k8s.io/v1alpha1', kind: 'OpenStackFloatingIPPool' },
      metadata: { name, annotations },
      spec: { identityRef: { name: 'clouds', cloudName: 'openstack' }, ...spec },
    })
  }

  async #deletePools(): Promise<void> {
    await eachOf(['deletes', 'retains'], 2, (name) => this.#client.send('DELETE', `${POOLS}/${name}`))
  }

  #createServer(name: string): Promise<unknown> {
    const pool = this.#names.indexOf(name) < this.#size.servers / 2 ? 'deletes' : 'retains'
    const ref = { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'OpenStackFloatingIPPool', name: pool }
    return this.#create(SERVERS, {
      ...{ apiVersion: 'infrastructure.cluster.x-k8s.io/v1alpha1', kind: 'OpenStackServer' },
      metadata: { name, finalizers: [SERVER_FINALIZER] },
      spec: { floatingIPPoolRef: ref, identityRef: { name: 'clouds', cloudName: 'openstack' } },
    })
  }

  #waiting(): string {
    const { servers, ready, problems } = this.#machines
    const others = servers.filter((server) => !ready.includes(server))
    const shown = (server: OpenStackServer) => {
      const { name, finalizers = [], deletionTimestamp = '' } = server.metadata
      const { reason = '', message = '' } = conditionOf(server) ?? {}
      return `${name} ${deletionTimestamp} ${finalizers.join(' ')} ${reason}: ${message}`
    }
    return [`${others.length} of ${servers.length} wait`, ...others.slice(0, 10).map(shown), ...problems].join('\n')
  }

  #figures(): string {
    const { calls } = this.#cloud.fake
    const total = [...calls.values()].reduce((sum, count) => sum + count, 0)
    const { kills, restarts, suspensions } = this.#controllers
    return `${kills} kills, ${suspensions} suspended past their Lease, ${restarts} ended by themselves, ${total} calls of which ${this.#cloud.faults} failed`
  }

  async #until(
    attempt: () => Promise<true | undefined> | true | undefined,
    otherwise: string | (() => string),
  ): Promise<void> {
    const explain = () =>
      `${typeof otherwise === 'string' ? otherwise : otherwise()}\n${this.#figures()}\n${this.#controllers.said}`
    const giveUp = () => {
      const { fault } = this.#controllers
      if (fault !== undefined) throw new Error(`a controller ended by itself\n${fault}`)
    }
    await waitFor(attempt, { seconds: this.#size.seconds, else: 'it does not come to this', explain, giveUp })
  }
}

function inParts<T>(items: readonly T[], count: number): readonly (readonly T[])[] {
  const size = Math.ceil(items.length / count)
  return Array.from({ length: count }, (_, nth) => items.slice(nth * size, (nth + 1) * size))
}
