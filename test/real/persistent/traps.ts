import assert from 'node:assert/strict'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { Report } from '../report.js'
import { EDITED } from './audit.js'
import { CLAIMS, PODS } from './ground.js'
import { claimNamed, textOfClaim, textOfPod, until, type World } from './world.js'

/** The traps of upstream that need a server. */
export async function traps(report: Report, world: World): Promise<void> {
  await report.test('T1: a machine is made again under its name, while a Pod of the first one has the address', () =>
    sameName(world),
  )
  await report.test('T3: an address is freed once, by the Pod that outlives its claim', () => freedOnce(world))
  await report.test('T8: claims that cannot be read do not stop the others of their network at a start', () =>
    badClaims(world),
  )
}

async function sameName(world: World): Promise<string> {
  const { hypervisor, programs, audit } = world
  const podText = (name: string) => textOfPod(hypervisor.pod(name))
  await hypervisor.create('t1', ['blue'])
  await hypervisor.begin('t1')
  const [first] = await until(world, 'no Pod has addresses', () => {
    const pods = hypervisor.podsOf('t1').filter((pod) => textOfPod(pod) !== '')
    return pods.length > 0 ? pods : undefined
  })
  const { name } = first!.metadata
  const [addresses, claim] = [podText(name), await claimNamed(world, 't1.blue')]
  await hypervisor.hold(name, true)
  await hypervisor.delete('t1', 'Background')
  await hypervisor.create('t1', ['blue'])
  const begun = hypervisor.begin('t1')
  await programs.kill('claims', 'addresses')
  await begun
  const second = await until(world, 'the second machine has no addresses', () => {
    const [pod] = hypervisor.podsOf('t1')
    return pod?.metadata.name !== name && textOfPod(pod) !== '' ? pod : undefined
  })
  const next = await claimNamed(world, 't1.blue')
  assert.notEqual(next?.metadata.uid, claim?.metadata.uid)
  assert.equal(textOfClaim(next), textOfPod(second))
  assert.equal(podText(name), addresses)
  assert.notEqual(textOfPod(second), addresses)
  await audit.check()
  await hypervisor.hold(name, false)
  await hypervisor.delete('t1', 'Background')
  await until(world, 'something stays', async () => {
    return ((await claimNamed(world, 't1.blue')) === undefined && hypervisor.podsOf('t1').length === 0) || undefined
  })
  assert.equal(await audit.check(), 0)
  return `${addresses} and ${textOfPod(second)}`
}

/** A network of six addresses that is full. */
async function freedOnce(world: World): Promise<string> {
  const { admin, hypervisor, programs, audit } = world
  const text = (name: string) => textOfPod(hypervisor.pod(name))
  const served = (names: readonly string[], count: number) =>
    until(world, `not ${count} of ${names} have an address`, () => {
      const found = names.filter((name) => text(name) !== '')
      return found.length === count ? found : undefined
    })
  const claim = { metadata: { name: 't3' }, spec: { network: 'tenant-tiny', interface: '' } }
  const kind = { apiVersion: 'k8s.cni.cncf.io/v1alpha1', kind: 'IPAMClaim' }
  await admin.send('POST', CLAIMS, { body: { ...kind, ...claim } })
  await addPod(world, 't3-0', 't3')
  await served(['t3-0'], 1)
  const address = text('t3-0')
  const fill = ['t3-1', 't3-2', 't3-3', 't3-4', 't3-5']
  for (const name of fill) await addPod(world, name)
  await served(fill, 5)
  for (const name of ['t3-6', 't3-7']) await addPod(world, name)
  await admin.send('DELETE', `${CLAIMS}/t3`)
  // what is freed next shows that the deletion of the claim has freed nothing
  const freed = text('t3-1')
  await hypervisor.deletePod('t3-1')
  const [sixth] = await served(['t3-6', 't3-7'], 1)
  assert.equal(text(sixth!), freed)
  assert.equal(text('t3-0'), address)
  await audit.check()
  await hypervisor.deletePod('t3-0')
  await served(['t3-6', 't3-7'], 2)
  const seventh = sixth === 't3-6' ? 't3-7' : 't3-6'
  assert.equal(text(seventh), address)
  await programs.kill('addresses')
  await addPod(world, 't3-8')
  const last = text('t3-2')
  await hypervisor.deletePod('t3-2')
  await served(['t3-8'], 1)
  assert.equal(text('t3-8'), last)
  assert.equal(await audit.check(), 6)
  for (const name of ['t3-3', 't3-4', 't3-5', 't3-6', 't3-7', 't3-8']) await hypervisor.deletePod(name)
  assert.equal(await audit.check(), 0)
  return address
}

async function addPod({ admin }: World, name: string, claim?: string): Promise<void> {
  const selection = { name: 'tiny', ...(claim !== undefined && { 'ipam-claim-reference': claim }) }
  const annotations = { 'k8s.v1.cni.cncf.io/networks': JSON.stringify([selection]) }
  const spec = { nodeName: 'node-a', containers: [{ name: 'c', image: 'i' }] }
  await admin.send('POST', PODS, { body: { metadata: { name, annotations }, spec } })
}

/** Statuses that a tenant has edited. */
const BAD: readonly (readonly string[])[] = [['no address'], ['10.99.0.1/24'], ['10.20.0.0/0', ''], ['::ffff:1/300']]

async function badClaims(world: World): Promise<string> {
  const { admin, hypervisor, programs, audit } = world
  const kind = { apiVersion: 'k8s.cni.cncf.io/v1alpha1', kind: 'IPAMClaim' }
  for (const [nth, ips] of BAD.entries()) {
    const name = `t8-bad-${nth}`
    const metadata = { name, labels: { [EDITED]: 'true' } }
    await admin.send('POST', CLAIMS, { body: { ...kind, metadata, spec: { network: 'tenant-blue', interface: '' } } })
    await admin.send('PATCH', `${CLAIMS}/${name}/status`, { body: { status: { ips } }, patch: 'merge' })
  }
  await hypervisor.create('t8', ['blue'])
  await hypervisor.begin('t8')
  await programs.kill('addresses')
  await until(world, 'the neighbour has no addresses', () => textOfPod(hypervisor.podsOf('t8')[0]) || undefined)
  const reasons = await until(world, 'a bad claim has no condition', async () => {
    const claims = await Promise.all(BAD.map((_, nth) => claimNamed(world, `t8-bad-${nth}`)))
    const found = claims.map((claim) => statusOf(claim).conditions?.[0])
    return found.every((each) => each?.status === 'False') ? found.map((each) => each?.reason) : undefined
  })
  const claims = await Promise.all(BAD.map((_, nth) => claimNamed(world, `t8-bad-${nth}`)))
  assert.deepEqual(
    claims.map((claim) => statusOf(claim).ips),
    BAD,
  )
  for (const nth of BAD.keys()) await admin.send('DELETE', `${CLAIMS}/t8-bad-${nth}`)
  await hypervisor.delete('t8', 'Foreground')
  await until(world, 'claims stay', async () => (await admin.list(CLAIMS)).length === 0 || undefined)
  await until(world, 'Pods stay', async () => (await admin.list(PODS)).length === 0 || undefined)
  assert.equal(await audit.check(), 0)
  return reasons.join(', ')
}

function statusOf(claim: KubeObject | undefined): BadStatus {
  return (claim?.status ?? { ips: [] }) as BadStatus
}

interface BadStatus {
  readonly ips: readonly string[]
  readonly conditions?: readonly { readonly status: string; readonly reason: string }[]
}
