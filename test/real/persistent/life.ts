import assert from 'node:assert/strict'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { eachOf } from '../controller/client.js'
import type { Report } from '../report.js'
import { CLAIMS, INSTANCES, MACHINES, PODS } from './ground.js'
import { setFailurePolicy } from './programs.js'
import { claimNamed, textOfClaim, textOfPod, until, type World } from './world.js'

const AT_ONCE = 16

/** Virtual machines from their creation to their deletion, while both programs are killed. */
export async function lives(report: Report, world: World, machines: number): Promise<void> {
  const life = new Life(world, machines)
  await report.test(`${machines} machines are made and started: a claim has its addresses before its Pod`, () =>
    life.make(),
  )
  await report.test('they are restarted while both programs are killed, and keep their addresses', () => life.restart())
  await report.test('they migrate: both Pods have one address, and a claim names the Pod that runs', () =>
    life.migrate(),
  )
  await report.test('they are stopped and started: Pods wait while the webhook is away', () => life.pause())
  await report.test('with Ignore, a Pod without the webhook gets addresses that do not stay', () => life.ignored())
  await report.test('they are deleted in background, in foreground and as orphans, and all of it ends', () =>
    life.end(),
  )
}

class Life {
  readonly #world: World
  readonly #names: readonly string[]
  /** The addresses of each claim since it was made. */
  readonly #first = new Map<string, string>()

  constructor(world: World, count: number) {
    this.#world = world
    this.#names = Array.from({ length: count }, (_, nth) => `vm-${nth}`)
  }

  async make(): Promise<string> {
    const { hypervisor } = this.#world
    await eachOf(this.#names, AT_ONCE, async (name) => {
      await hypervisor.create(name, this.#networksOf(name))
      await hypervisor.begin(name)
    })
    await this.#served(this.#names)
    for (const claim of await this.#claims()) this.#first.set(claim.metadata.name, textOfClaim(claim))
    assert.equal(this.#first.size, this.#names.flatMap((name) => this.#networksOf(name)).length)
    return `${await this.#same()} addresses`
  }

  async restart(): Promise<string> {
    const { hypervisor, programs } = this.#world
    let count = 0
    const all = eachOf(this.#names, AT_ONCE, async (name) => {
      await hypervisor.end(name)
      await hypervisor.begin(name)
      count++
    })
    const { length } = this.#names
    for (const share of [0.2, 0.6]) {
      await until(this.#world, 'no machine is restarted', () => count >= length * share || undefined)
      await programs.kill('claims', 'addresses')
    }
    await all
    await this.#served(this.#names)
    return `${await this.#same()} addresses, ${programs.kills} kills`
  }

  /** Every fourth migration fails. */
  async migrate(): Promise<string> {
    const { hypervisor, programs } = this.#world
    const moving = this.#names.filter((_, nth) => nth % 2 === 0)
    const targets = new Map<string, string>()
    await eachOf(moving, AT_ONCE, async (name) => {
      targets.set(name, await hypervisor.launch(name, `migration-of-${name}`))
    })
    await programs.kill('addresses')
    await this.#served(moving, 2)
    for (const name of moving) {
      const pods = hypervisor.podsOf(name).map(textOfPod)
      assert.deepEqual(new Set(pods), new Set([this.#addressesOf(name)]))
    }
    const users = new Map<string, string>()
    await eachOf(moving, AT_ONCE, async (name) => {
      const target = targets.get(name) ?? ''
      const source = hypervisor.podsOf(name).find(({ metadata }) => metadata.name !== target)?.metadata.name ?? ''
      assert.equal(await this.#user(name), source)
      const fails = moving.indexOf(name) % 4 === 3
      if (!fails) await this.#isReady(target)
      users.set(name, fails ? source : target)
      await hypervisor.deletePod(fails ? target : source)
    })
    await until(this.#world, 'a claim does not name the Pod that runs', async () => {
      const claims = await this.#claims()
      const wrong = claims.filter(({ metadata, status }) => {
        const wanted = users.get(metadata.name.replace(/\..*/, ''))
        return wanted !== undefined && (status as ClaimStatus).ownerPod?.name !== wanted
      })
      return wrong.length === 0 || undefined
    })
    return `${await this.#same()} addresses, ${moving.length} migrations`
  }

  async pause(): Promise<string> {
    const { hypervisor, programs, audit } = this.#world
    await eachOf(this.#names, AT_ONCE, (name) => hypervisor.end(name))
    assert.equal(hypervisor.podsOf(this.#names[0]!).length, 0)
    await audit.check()
    await programs.remove('claims')
    const before = hypervisor.refusals
    const all = eachOf(this.#names, AT_ONCE, (name) => hypervisor.begin(name))
    await until(this.#world, 'no Pod is refused', () => hypervisor.refusals > before || undefined)
    assert.equal((await this.#pods()).length, 0)
    programs.run('claims')
    await all
    await this.#served(this.#names)
    return `${await this.#same()} addresses, ${hypervisor.refusals - before} refusals`
  }

  async ignored(): Promise<string> {
    const { hypervisor, programs } = this.#world
    const name = this.#names[0]!
    await hypervisor.end(name)
    await setFailurePolicy(this.#world, 'Ignore')
    await programs.remove('claims')
    await hypervisor.begin(name)
    const other = await until(this.#world, 'the Pod has no addresses', () => {
      const [pod] = hypervisor.podsOf(name)
      return textOfPod(pod) || undefined
    })
    assert.notEqual(other, this.#addressesOf(name))
    await this.#world.audit.check()
    programs.run('claims')
    await setFailurePolicy(this.#world, 'Fail')
    await hypervisor.end(name)
    await hypervisor.begin(name)
    await this.#served(this.#names)
    return `${await this.#same()} addresses`
  }

  async end(): Promise<string> {
    const { hypervisor, programs, audit } = this.#world
    const policies = ['Background', 'Foreground', 'Orphan'] as const
    const policyOf = (name: string) => policies[this.#names.indexOf(name) % 3]!
    const stopped = this.#names.filter((name) => policyOf(name) !== 'Orphan').slice(0, this.#names.length / 4)
    await eachOf(stopped, AT_ONCE, (name) => hypervisor.end(name))
    await eachOf(this.#names, AT_ONCE, (name) => hypervisor.delete(name, policyOf(name)))
    await programs.kill('claims', 'addresses')
    await until(this.#world, 'machines stay', async () => (await this.#list(MACHINES)).length === 0 || undefined)
    const orphans = this.#names.filter((name) => policyOf(name) === 'Orphan')
    await until(this.#world, 'instances stay', async () => {
      return (await this.#list(INSTANCES)).length === orphans.length || undefined
    })
    await until(this.#world, 'claims stay', async () => {
      const names = new Set((await this.#claims()).map(({ metadata }) => metadata.name.replace(/\..*/, '')))
      return names.size === orphans.length || undefined
    })
    for (const name of orphans) assert.equal(this.#textOfPods(name), this.#addressesOf(name))
    await audit.check()
    await eachOf(orphans, AT_ONCE, (name) => hypervisor.end(name))
    await until(this.#world, 'something stays', async () => {
      const left = [...(await this.#list(INSTANCES)), ...(await this.#claims()), ...(await this.#pods())]
      return left.length === 0 || undefined
    })
    assert.equal(await audit.check(), 0)
    return `${this.#names.length} machines, ${orphans.length} orphans, ${programs.kills} kills in all`
  }

  /** Waits until machines have so many Pods, with the addresses of all networks. */
  async #served(names: readonly string[], pods = 1): Promise<void> {
    const { hypervisor } = this.#world
    const missing = () =>
      names.filter((name) => {
        const served = hypervisor.podsOf(name).filter((pod) => {
          const { length } = textOfPod(pod).split(' ')
          return textOfPod(pod) !== '' && length >= this.#networksOf(name).length + 1
        })
        return served.length < pods
      })
    await until(this.#world, 'Pods have no addresses', () => missing().length === 0 || undefined).catch((error) => {
      throw new Error(`${missing().slice(0, 5).join(', ')}: ${(error as Error).message}`)
    })
  }

  /** Claims and Pods have the addresses that they had first. @returns how many are in use */
  async #same(): Promise<number> {
    const claims = await this.#claims()
    assert.deepEqual(
      new Map(claims.map((claim) => [claim.metadata.name, textOfClaim(claim)])),
      this.#first,
      'claims have other addresses',
    )
    for (const name of this.#names) assert.equal(this.#textOfPods(name), this.#addressesOf(name), name)
    assert.deepEqual(this.#world.hypervisor.problems, [])
    return this.#world.audit.check()
  }

  /** The addresses of the Pods of a machine; of several, if they differ. */
  #textOfPods(name: string): string {
    return [...new Set(this.#world.hypervisor.podsOf(name).map(textOfPod))].join(' | ')
  }

  #addressesOf(name: string): string {
    const claims = this.#networksOf(name).map((nad) => `${name}.${nad.replace(/.*\//, '')}`)
    return claims
      .flatMap((claim) => this.#first.get(claim)?.split(' ') ?? [])
      .sort()
      .join(' ')
  }

  #networksOf(name: string): readonly string[] {
    return this.#names.indexOf(name) % 2 === 0 ? ['blue'] : ['blue', 'nets/red']
  }

  async #user(name: string): Promise<string | undefined> {
    const claim = await claimNamed(this.#world, `${name}.blue`)
    return (claim?.status as ClaimStatus | undefined)?.ownerPod?.name
  }

  /** As KubeVirt says that a machine runs in the target. */
  async #isReady(pod: string): Promise<void> {
    const annotations = { 'kubevirt.io/migration-target-ready-timestamp': new Date().toISOString() }
    await this.#world.admin.send('PATCH', `${PODS}/${pod}`, { body: { metadata: { annotations } }, patch: 'merge' })
  }

  #claims(): Promise<readonly KubeObject[]> {
    return this.#list(CLAIMS)
  }

  #pods(): Promise<readonly KubeObject[]> {
    return this.#list(PODS)
  }

  #list(path: string): Promise<readonly KubeObject[]> {
    return this.#world.admin.list(path)
  }
}

interface ClaimStatus {
  readonly ownerPod?: { readonly name: string }
}
