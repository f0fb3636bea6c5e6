import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { admitExample, exampleNamed } from '../account.js'
import { bundle } from '../bundle.js'
import { addressesIn, callPlugin } from '../cni/runtime.js'
import { ControllerProcess } from '../controller/process.js'
import { paced } from '../pace.js'
import type { Report } from '../report.js'
import { storedRows } from '../whereabouts/ground.js'
import { CLAIMS, NAMESPACE, PODS } from './ground.js'
import { claimNamed, textOfClaim, textOfPod, until, type World } from './world.js'

const PLUGIN = exampleNamed('cni-plugin', 'ipam-kit-cni')
const CONTROLLERS = exampleNamed('whereabouts-controller', 'ipam-kit-whereabouts')
const CLAIM = 'disk.storage'

/** Rows of whereabouts that a claim holds, beside claims of virtual machines: one kind for both. */
export async function rowsBeside(report: Report, world: World): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-persistent-'))
  const { server } = world
  const sweep = new ControllerProcess(
    await bundle(CONTROLLERS.main, 'persistent-sweep'),
    await admitExample(server, CONTROLLERS),
    ['--no-node-slices', '--grace', `${paced(3)}`],
  )
  try {
    const program = await bundle(PLUGIN.main, 'persistent-plugin', { isPlugin: true })
    const kubeconfig = await admitExample(server, PLUGIN)
    await report.test('a row of whereabouts and the addresses of a machine are held by claims of one kind', () =>
      beside(world, { program, kubeconfig, folder }),
    )
  } finally {
    await sweep.stop('SIGKILL')
    rmSync(folder, { recursive: true })
  }
}

interface Plugin {
  readonly program: string
  readonly kubeconfig: string
  readonly folder: string
}

async function beside(world: World, plugin: Plugin): Promise<string> {
  const { admin, hypervisor, programs, audit } = world
  const kind = { apiVersion: 'k8s.cni.cncf.io/v1alpha1', kind: 'IPAMClaim' }
  const spec = { network: 'storage', interface: '' }
  await admin.send('POST', CLAIMS, { body: { ...kind, metadata: { name: CLAIM }, spec } })
  await hypervisor.create('beside', ['blue'])
  await hypervisor.begin('beside')
  const first = await added(world, plugin, 'disk-0')
  await until(world, 'the machine has no addresses', () => textOfPod(hypervisor.podsOf('beside')[0]) || undefined)
  await call(plugin, 'DEL', 'disk-0')
  await hypervisor.deletePod('disk-0')
  await programs.kill('claims', 'addresses')
  const second = await added(world, plugin, 'disk-1')
  assert.equal(second, first)
  const claims = new Map((await admin.list(CLAIMS)).map((claim) => [claim.metadata.name, textOfClaim(claim)]))
  assert.deepEqual([...claims.keys()].sort(), ['beside.blue', CLAIM])
  assert.equal(claims.get(CLAIM), first)
  assert.equal(await audit.check(), 3)
  await call(plugin, 'DEL', 'disk-1')
  await hypervisor.deletePod('disk-1')
  assert.deepEqual(await rows(world), [first])
  await admin.send('DELETE', `${CLAIMS}/${CLAIM}`)
  await until(world, 'the row of a deleted claim stays', async () => (await rows(world)).length === 0 || undefined)
  assert.equal(textOfClaim(await claimNamed(world, 'beside.blue')), claims.get('beside.blue'))
  await hypervisor.delete('beside', 'Background')
  await until(world, 'claims stay', async () => (await admin.list(CLAIMS)).length === 0 || undefined)
  return `${first} and ${claims.get('beside.blue')}`
}

async function rows({ admin }: World): Promise<readonly string[]> {
  return (await storedRows(admin)).map(({ address }) => address)
}

/** Makes a Pod whose interface has the claim. @returns its address */
async function added({ admin }: World, plugin: Plugin, name: string): Promise<string> {
  const spec = { nodeName: 'node-a', containers: [{ name: 'c', image: 'i' }] }
  const { metadata } = await admin.send<{ metadata: { uid: string } }>('POST', PODS, {
    body: { metadata: { name }, spec },
  })
  return addressesIn(await call(plugin, 'ADD', name, metadata.uid)).join(' ')
}

function call({ program, kubeconfig, folder }: Plugin, command: string, pod: string, uid = 'none') {
  const ipam = { type: 'whereabouts', range: '10.77.0.0/24', kubernetes: { kubeconfig } }
  const subject = {
    ...{ name: 'rows', record: join(folder, 'record'), ipam, away: {} },
    command: [process.execPath, program, '--record', join(folder, 'record')] as const,
    rows: async () => [],
    lose: async () => {},
    age: async () => {},
  }
  const names = `K8S_POD_NAMESPACE=${NAMESPACE};K8S_POD_NAME=${pod};K8S_POD_UID=${uid}`
  return callPlugin(subject, folder, command, {
    container: `container-of-${pod}`,
    config: { name: 'storage', args: { cni: { 'ipam-claim-reference': CLAIM } } },
    env: { CNI_ARGS: `IgnoreUnknown=1;${names}` },
  })
}
